"""General utilities without domain: argument checks, records, content digests, progress, outcomes."""

__all__: list[str] = []
