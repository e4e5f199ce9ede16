"""Send a turn of a LionAGI branch: chat and run send the same messages, and only an answered turn is recorded.

Prints on stdout:

    chat: Two hours., 1 message in the branch
    run: Two hours., 3 messages in the branch
    both were sent the same: True
"""

import asyncio

from lionagi.operations.types import ChatParam, RunParam
from lionagi.testing import TestBranch, TextResponse

from kedi_lionagi import chat, run


async def main() -> None:
    """Ask the same twice, of a branch whose model is LionAGI's scripted one."""
    branch = TestBranch.from_responses(
        [TextResponse(content="Two hours."), TextResponse(content="Two hours.")],
        system="You know every path around the hut.",
        log_config={"auto_save_on_exit": False},
    )
    question = "How long is the way to the lake?"

    answer = await chat(branch, question, ChatParam.from_branch(branch))
    print(f"chat: {answer}, {len(branch.messages)} message in the branch")
    async for message in run(branch, question, RunParam.from_branch(branch)):
        answer = message.content.assistant_response
    print(f"run: {answer}, {len(branch.messages)} messages in the branch")

    first, second = (call.payload["messages"] for call in TestBranch.calls(branch))
    print(f"both were sent the same: {first == second}")


asyncio.run(main())
