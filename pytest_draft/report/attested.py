"""Check an attestation: in go a file and what ``gh attestation verify`` has verified, out comes whether it was cleared.

``gh attestation verify MODEL --repo ... --predicate-type ... --format json`` says who signed what. It compares neither
the hash of what was judged, nor the policy, nor the result::

    gh attestation verify ... --format json | python -m pytest_draft.report.attested MODEL --policy-sha256 HEX

does, and ends with 1 unless the file is the attested one, was judged itself, by this policy, and passed. Needs the
standard library only: whoever gets a model can run this file alone.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
_MOST_BYTES = 64 * 2**20
_HEX = frozenset("0123456789abcdef")


class NotAttestedError(Exception):
    """Why a file is not cleared, in one line."""


def check(model: Path, verified: Any, policy_sha256: str, *, warned: bool = False) -> str:
    """Return the SHA-256 of a file that was judged by a policy, and passed.

    Parameters
    ----------
    verified : object
        What ``gh attestation verify --format json`` prints, parsed: its signatures were checked, its content was not.
    policy_sha256 : str
        Of the policy's file.
    warned : bool
        Whether a result with waived checks, or warnings, will do.

    Raises
    ------
    NotAttestedError
        Unless some attestation is about this file and says that this very file was judged by this policy, and all such
        attestations say that it passed.
    """
    sha256, problems, results = sha256_of(model), [], []
    for statement in _statements(verified):
        try:
            results.append(_result(statement, sha256, policy_sha256))
        except NotAttestedError as error:
            problems.append(str(error))
    if not results:
        why = "; ".join(dict.fromkeys(problems)) or "there is none"
        raise NotAttestedError(f"{_shown(model)}: no attestation clears this file (sha256 {sha256}): {why}")
    accepted = ("PASSED", "WARNED") if warned else ("PASSED",)
    for result in results:
        if result not in accepted:
            raise NotAttestedError(
                f"{_shown(model)}: this file was judged, and the result is {_shown(result)}, not PASSED: do not use it"
            )
    return sha256


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a regular file, read in chunks.

    Raises
    ------
    NotAttestedError
        Where it cannot be read.
    """
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        pass
    raise NotAttestedError(f"{_shown(path)}: no file that can be read")


def _statements(verified: Any) -> Iterator[dict[str, Any]]:
    """Yield the in-toto statements of what was verified."""
    for one in verified if isinstance(verified, list) else [verified]:
        try:
            statement = one["verificationResult"]["statement"]
        except (TypeError, LookupError):
            raise NotAttestedError("this is not what gh attestation verify --format json prints") from None
        if isinstance(statement, dict):
            yield statement


def _result(statement: dict[str, Any], sha256: str, policy_sha256: str) -> str:
    """Return the result of a statement that is about a file and a policy, and refuse any other."""
    try:
        if statement["predicateType"] != PREDICATE_TYPE:
            raise NotAttestedError("one is of another type")
        if not any(subject["digest"]["sha256"] == sha256 for subject in statement["subject"]):
            raise NotAttestedError("one is about another file")
        predicate = statement["predicate"]
        if sha256 not in judged(predicate):
            raise NotAttestedError("one was made for this file after another file was judged")
        policies = [one["annotations"].get("file_sha256") for one in _of_role(predicate, "policy")]
        if not policies or set(policies) != {policy_sha256}:
            raise NotAttestedError("one is of a judgement by another policy")
        return str(predicate["result"])
    except (TypeError, LookupError, AttributeError):
        raise NotAttestedError("one is damaged") from None


def judged(predicate: dict[str, Any]) -> list[str]:
    """Return the SHA-256 of each model file that a predicate says was judged."""
    return [one["digest"]["sha256"] for one in _of_role(predicate, "model")]


def _of_role(predicate: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [one for one in predicate["configuration"] if one.get("annotations", {}).get("role") == role]


def _shown(text: object) -> str:
    """Return a text as printable ASCII that no terminal and no runner takes for a command."""
    return ascii(str(text))[1:-1][:300]


def _sha256(text: str) -> str:
    if len(text) != 64 or not set(text) <= _HEX:
        raise argparse.ArgumentTypeError("64 digits of 0-9 and a-f, as sha256sum prints them")
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Say whether a file was cleared, and return 0 only where it was."""
    parser = argparse.ArgumentParser(prog="python -m pytest_draft.report.attested", description=main.__doc__)
    parser.add_argument("model", type=Path, help="the file to be used")
    parser.add_argument("verified", nargs="?", type=Path, help="what gh printed (standard input)")
    parser.add_argument("--policy-sha256", type=_sha256, required=True, help="of the policy's file")
    parser.add_argument("--allow-warned", action="store_true", help="take a result with warnings or waivers, too")
    given = parser.parse_args(argv)
    try:
        with given.verified.open("rb") if given.verified else sys.stdin.buffer as source:
            content = source.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise NotAttestedError("the attestations are more than 64 MiB: name a file that gh printed")
        verified = json.loads(content)
        sha256 = check(given.model, verified, given.policy_sha256, warned=given.allow_warned)
    except NotAttestedError as error:
        print(f"not attested: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError, RecursionError):
        print("not attested: no JSON to read: give what gh attestation verify --format json prints", file=sys.stderr)
        return 1
    how = "passed, or has warnings and waived checks only" if given.allow_warned else "passed"
    print(f"attested: {_shown(given.model)} (sha256 {sha256}) was judged by this policy, and {how}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
