"""Local inference: the engine protocol, llama.cpp, grammars, chat templates, the catalogue."""
