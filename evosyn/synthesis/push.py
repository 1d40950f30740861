"""Uploading a dataset directory to the Hugging Face hub: the parquet files, the card, the rejects and the report.

Nothing is uploaded unless it was asked for by name; a new repository is private unless it was asked to be public. The
journal, the candidates and the reply cache stay at home. The token comes from the environment or the login of
`huggingface_hub`, never from a config.
"""

from __future__ import annotations

from pathlib import Path

from evosyn.dataset import parquet_files
from evosyn.errors import UnavailableError, UsageError

PUSHED = ("README.md", "report.json", "rejects.jsonl", "strategy.py", "quality.png", "dataset/*.parquet")


def push_dataset(directory: Path, repo: str, *, private: bool = True) -> str:
    """Upload a finished dataset directory; returns the address of the commit.

    Args:
        repo: `owner/name`.

    Raises:
        UsageError: the directory is not finished, or `repo` is not `owner/name`.
        UnavailableError: the hub refuses or does not answer; nothing half-visible is left, one commit holds it all.
    """
    for name in ("README.md", "report.json"):
        if not (directory / name).is_file():
            raise UsageError(f"--push: {directory} has no {name}; finish it with `evosyn synthesize` first")
    parquet_files(directory)
    if repo.count("/") != 1:
        raise UsageError(f"--push {repo!r}: write it as owner/name")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    api = HfApi()
    try:
        api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=str(directory),
            allow_patterns=list(PUSHED),
            commit_message="Dataset made by evosyn",
        )
    except LocalTokenNotFoundError as error:
        raise UsageError("--push: no token; set HF_TOKEN, or log in with `hf auth login`") from error
    except (HfHubHTTPError, OSError) as error:
        raise UnavailableError(f"--push {repo}: the hub did not take it: {error}") from error
    return str(commit.commit_url)
