"""Machine code on disk: where it is kept, how it is checked and shared between processes, and what people are told."""
