"""Ariadne: working memory, planning, acting, exploring, the episode loop."""
