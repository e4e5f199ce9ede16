"""The providers' own words, as data.

One row a rule: the template of the answer, where the words were seen, and the HTTP status and code that
come with them. `quoted=False` marks a rule whose existence is known but whose words are not; those texts
are ours. Short error texts are facts about an API; they change, so the table carries a version.

Sources: C = a recorded cassette, I = public issue threads, S = quoted in public client source,
D = vendor documentation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .refusal import Refusal

VERSION = "2026-11-30"


@dataclass(frozen=True, slots=True)
class Words:
    """The answer of one provider to one kind of broken request."""

    text: str
    source: str
    status: int = 400
    code: str | None = None
    quoted: bool = True


_ANTHROPIC = {
    "messages_present": Words("messages: at least one message is required", "I"),
    "messages_not_too_many": Words("messages: List should have at most 100000 items", "S anthropic SDK", quoted=False),
    "messages_have_known_roles": Words(
        "messages.{index}: Input does not match the expected shape.", "C anthropic_completion_error"
    ),
    "first_message_is_from_the_user": Words('messages: first message must use the "user" role', "I"),
    "content_is_not_empty": Words(
        "messages.{index}: all messages must have non-empty content except for the optional final assistant message",
        "I",
    ),
    "text_is_not_empty": Words("messages: text content blocks must be non-empty", "I"),
    "text_is_not_whitespace": Words("messages: text content blocks must contain non-whitespace text", "I"),
    "blocks_stand_in_their_role": Words("messages.{index}: `{kind}` blocks can only be in `{role}` messages", "I"),
    "call_ids_have_allowed_characters": Words(
        "{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "S Mastra, LiteLLM"
    ),
    "call_ids_are_unique": Words("messages: `tool_use` ids must be unique", "I opencode"),
    "calls_are_answered_directly_after": Words(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}."
        " Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        "I anthropics/claude-code#8210",
    ),
    "results_answer_the_previous_message": Words(
        "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must"
        " have a corresponding `tool_use` block in the previous message.",
        "I anthropics/claude-code#18947",
    ),
    "each_call_has_a_single_result": Words(
        "{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        "S",
    ),
    "server_results_have_their_call": Words(
        "{path}: unexpected `tool_use_id` found in `{kind}` blocks: {id}. Each `{kind}` block must have a"
        " corresponding `server_tool_use` block before it.",
        "I anthropics/claude-code#64383",
    ),
    "server_calls_get_their_result": Words(
        "messages.{index}: `{name}` tool use with id `{id}` was found without a corresponding"
        " `{name}_tool_result` block",
        "I AnswerDotAI/lisette#108",
    ),
    "thinking_carries_its_signature": Words("{path}.{kind}.{field}: Field required", "I"),
    "open_loop_begins_with_thinking": Words(
        "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`."
        " When `thinking` is enabled, a final `assistant` message must start with a thinking block"
        " (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
        "I zed-industries/zed#33317",
    ),
    "latest_thinking_is_unmodified": Words(
        "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
        " These blocks must remain as they were in the original response.",
        "I anthropics/claude-code#63203, #63404",
    ),
    "signatures_are_genuine": Words("{path}: Invalid `signature` in `{kind}` block", "I anthropics/claude-code#10627"),
    "thinking_fits_its_prefix": Words(
        "{path}: Invalid `signature` in `{kind}` block. The block is bound to a different conversation."
        " Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to"
        ' "drop_block".{beta}',
        "D preserved-thinking",
    ),
    "binding_control_needs_its_beta": Words(
        "thinking.{kind}.block_binding: Extra inputs are not permitted", "D preserved-thinking"
    ),
    "no_prefill_on_newer_models": Words(
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "S",
    ),
    "cache_points_are_at_most_four": Words(
        "A maximum of 4 blocks with cache_control may be provided. Found {count}.", "I"
    ),
}

_CHAT = {
    "messages_present": Words(
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "I",
        code="empty_array",
    ),
    "assistant_has_content_or_calls": Words("Invalid value for 'content': expected a string, got null.", "I"),
    "calls_are_answered_directly_after": Words(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        " 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        "S",
    ),
    "tool_messages_follow_their_call": Words(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "I miurla/morphic#136; crewAIInc/crewAI#1620",
    ),
    "reasoning_content_returns_where_required": Words(
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "I mnfst/modelparams.dev#29; earendil-works/pi#3636",
    ),
    "reasoning_content_is_absent_where_refused": Words(
        "messages[{index}]: unknown field 'reasoning_content'", "S Mastra", quoted=False
    ),
}

_RESPONSES = {
    "one_kind_of_server_state": Words(
        "Mutually exclusive parameters: 'conversation' and 'previous_response_id'. Ensure you are only"
        " providing one of: 'previous_response_id' or 'conversation'.",
        "S",
        code="mutually_exclusive_parameters",
    ),
    "item_ids_fit_their_type": Words(
        "Invalid 'input[{index}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
        "I",
        code="invalid_value",
    ),
    "items_are_not_repeated": Words(
        "Duplicate item found with id {id}. Remove duplicate items from your input and try again.", "S"
    ),
    "referred_items_are_stored": Words(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with"
        " `store` set to true, or remove this item from your input.",
        "I can1357/oh-my-pi#41",
        status=404,
    ),
    "encrypted_content_is_genuine": Words(
        "The encrypted content {shown} could not be verified.",
        "I openai/codex#8145",
        code="invalid_encrypted_content",
    ),
    "reasoning_is_followed_by_its_item": Words(
        "Item '{id}' of type 'reasoning' was provided without its required following item.",
        "C openai_responses_modified_history_400",
    ),
    "items_keep_their_reasoning": Words(
        "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning}'.",
        "I continuedev/continue#10018, #10880",
    ),
    "calls_are_answered": Words("No tool output found for function call {id}.", "I openai/openai-agents-python#673"),
    "outputs_answer_a_call": Words(
        "No tool call found for function call output with call_id {id}.", "I leookun/cursor-byok#307"
    ),
    "deepseek_calls_are_followed_by_outputs": Words(
        "No tool output found for tool call {id}.",
        "C deepseek_responses_interleaved_400",
        code="invalid_request_error",
    ),
    "previous_response_not_found": Words(
        "Previous response with id '{id}' not found.",
        "I maximhq/bifrost#2441",
        code="previous_response_not_found",
    ),
    "conversation_not_found": Words("Conversation with id '{id}' not found.", "S", status=404, quoted=False),
}

_GOOGLE = {
    "contents_present": Words("* GenerateContentRequest.contents: contents is not specified", "I"),
    "parts_present": Words("* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.", "I"),
    "roles_are_known": Words("Please use a valid role: user, model.", "C vertex_invalid_role_400"),
    "contents_do_not_begin_with_a_model_turn": Words(
        "Requests beginning with a model turn are not supported.", "S pydantic-ai", quoted=False
    ),
    "contents_do_not_end_with_a_model_turn": Words(
        "Requests ending with a model turn are not supported.", "S Mastra #23320"
    ),
    "call_turns_follow_user_turns": Words(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "I google-gemini/gemini-cli#11814",
    ),
    "response_turns_follow_call_turns": Words(
        "Please ensure that function response turn comes immediately after a function call turn.",
        "I langchain-ai/langchain#27799",
    ),
    "responses_match_calls_in_number": Words(
        "Please ensure that the number of function response parts is equal to the number of function call"
        " parts of the function call turn.",
        "I google-gemini/gemini-cli#3814",
    ),
    "first_call_of_a_step_is_signed": Words(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
        " work correctly, and missing thought_signature may lead to degraded model performance.",
        "I nanbingxyz/5ire#405",
    ),
}

_BEDROCK = {
    "first_message_is_from_the_user": Words(
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        "I",
    ),
    "roles_alternate": Words(
        "A conversation must alternate between user and assistant roles. Make sure the conversation"
        " alternates between user and assistant roles and try again.",
        "I",
    ),
    "content_is_not_empty": Words(
        "The content field in the Message object at messages.{index} is empty. Add a ContentBlock object to"
        " the content field and try again.",
        "S",
    ),
    "text_is_not_blank": Words(
        "The text field in the ContentBlock object at messages.{index}.content.{position} is blank. Add text"
        " to the text field, and try again.",
        "I",
    ),
    "calls_are_answered_directly_after": Words(
        "Expected toolResult blocks at messages.{index}.content for the following Ids: {ids}",
        "I agno-agi/agno#6698",
    ),
    "results_do_not_exceed_calls": Words(
        "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of"
        " previous turn.",
        "I pydantic/pydantic-ai#2327",
    ),
    "result_content_is_not_empty": Words(
        "The content field in the ToolResultBlock object at messages.{index}.content.{position} is empty.",
        "S",
        quoted=False,
    ),
    "tool_blocks_need_tool_config": Words(
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "I nearai/ironclaw#1629",
    ),
    "documents_come_with_text": Words(
        "A text block must be included with a document block at messages.{index}.content.",
        "S Strands",
        quoted=False,
    ),
    "reasoning_is_only_from_the_assistant": Words(
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        "I",
    ),
    "nova_results_hold_no_stored_documents": Words(
        "The model returned the following errors: Malformed input request:"
        " #/messages/{index}/content/{position}: extraneous key [toolResult] is not permitted, please"
        " reformat your input and try again.",
        "C bedrock_nova_toolresult_400",
    ),
}

TABLE: Mapping[str, Mapping[str, Words]] = MappingProxyType(
    {
        "anthropic": MappingProxyType(_ANTHROPIC),
        "openai_chat": MappingProxyType(_CHAT),
        "openai_responses": MappingProxyType(_RESPONSES),
        "google": MappingProxyType(_GOOGLE),
        "bedrock": MappingProxyType(_BEDROCK),
    }
)


def refuse(provider: str, rule: str, /, **values: object) -> Refusal:
    """Return the refusal of a rule, its template filled with the values of this request."""
    words = TABLE[provider][rule]
    return Refusal(provider, rule, words.text.format(**values), words.status, words.code)
