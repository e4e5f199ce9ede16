"""`kedi-compile explain`: what history processing sees in a saved history, without running anything."""
