"""What every request says about itself: the dump's form, its redaction, and the file it is appended to."""
