"""What a person sees of a dump: a list of requests, one request in full, and a page that draws the run."""
