"""The releases of a target's library, and which of them a text means."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from gradfuzz.errors import UsageError
from gradfuzz.oracles.foreign.managed import plan


def releases(target: str, text: str) -> list[str]:
    """The releases that `text` means, oldest first: "1.6..1.9" is what the index has from the one to the
    other; "1.6,1.7" is exactly these.

    Folders are in the order in which they are named: "./before,./between,./after".
    Either end of a range may be left out. Pre-releases are in a range only if one of its ends is a
    pre-release. Raises `UsageError`, and `InstallError` where the releases cannot be listed.
    """
    if "/" in text:
        return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if ".." not in text:
        named = {_version(part): part.strip() for part in text.split(",") if part.strip()}
        if not named:
            raise UsageError(f"{text!r} names no release; write A..B, or 1.0,1.1,1.2")
        return [named[version] for version in sorted(named)]
    first, _, last = (part.strip() for part in text.partition(".."))
    low, high = _version(first) if first else None, _version(last) if last else None
    if low is not None and high is not None and low > high:
        raise UsageError(f"{text!r} is empty: {first} is later than {last}; write the older one first")
    wanted = plan(target)
    known = wanted.language.releases(wanted.distribution)
    early = any(end is not None and end.is_prerelease for end in (low, high))

    def fits(version: Version) -> bool:
        above, below = low is None or version >= low, high is None or version <= high
        return above and below and (early or not version.is_prerelease)

    within = [release for release in known if fits(Version(release))]
    if not within:
        told = f"in {text}; there are {f'from {known[0]} to {known[-1]}' if known else 'none'}"
        raise UsageError(f"no release of {wanted.distribution} that can be installed here is {told}")
    return within


def _version(text: str) -> Version:
    try:
        return Version(text.strip())
    except InvalidVersion as error:
        advice = "write A..B, as in 1.6..1.9, or 1.0,1.1,1.2"
        raise UsageError(f"{text.strip()!r} is no release; {advice}") from error
