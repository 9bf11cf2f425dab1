"""llama.cpp in this process: the model, its context, and the engine of one request at a time."""
