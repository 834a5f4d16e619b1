# SPDX-License-Identifier: BSD-3-Clause
"""tools/release: archive, SBOM and checksums, judged by tar, sha256sum, ldd and dpkg. It compiles nothing here."""
import json
import pathlib
import re
import subprocess
import tempfile

from plan_program import TIMEOUT, Skipped, expect

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run(*command, cwd=REPOSITORY):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=cwd)
    expect(done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def release(program):
    """the source as committed, the same each time; each loaded library's package is in the SBOM; the checksums are right"""
    if not (REPOSITORY / ".git").exists():
        raise Skipped("a release is made of a commit, and this is no clone")
    with tempfile.TemporaryDirectory(prefix="longhaul-release-") as directory:
        made = {}
        for name in ("one", "two"):
            files = run(REPOSITORY / "tools/release", "--program", program.program, "--output", f"{directory}/{name}").split()
            made[name] = {pathlib.Path(file).name: pathlib.Path(file).read_bytes() for file in files}
        expect(made["one"] == made["two"], "a second release of the same commit differs")
        expect(len(made["one"]) == 3, f"{sorted(made['one'])}")
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=f"{directory}/one")
        archive = next(name for name in made["one"] if name.endswith(".tar.xz"))
        top = archive.removesuffix(".tar.xz")
        listed = {line.removeprefix(f"{top}/") for line in run("tar", "-tf", f"{directory}/one/{archive}").split("\n") if not line.endswith("/")}
        committed = set(filter(None, run("git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")))
        expect(listed - {""} == committed, f"in the archive alone {sorted(listed - committed)[:5]}, missing {sorted(committed - listed)[:5]}")

        sbom = json.loads(made["one"][f"{top}.spdx.json"])
        expect(sbom["spdxVersion"] == "SPDX-2.3" and sbom["dataLicense"] == "CC0-1.0" and sbom["documentNamespace"], "no SPDX 2.3")
        identifiers = [package["SPDXID"] for package in sbom["packages"]]
        expect(len(set(identifiers)) == len(identifiers), "an SPDXID stands twice")
        for relation in sbom["relationships"]:
            ends = {relation["spdxElementId"], relation["relatedSpdxElement"]}
            expect(ends <= {*identifiers, "SPDXRef-DOCUMENT"}, f"{relation} leads nowhere")
        versions = {package["name"]: package["versionInfo"] for package in sbom["packages"]}
        expect(top == f"longhaul-{versions['longhaul']}", f"{top}, {versions['longhaul']}")
        names = {package["SPDXID"]: package["name"] for package in sbom["packages"]}
        loaded = {names[relation["relatedSpdxElement"]] for relation in sbom["relationships"]
                  if relation["relationshipType"] == "DYNAMIC_LINK"}
        libraries = re.findall(r"=> (/\S+)", run("ldd", program.program))
        expect(len(libraries) > 10, f"ldd: {libraries}")
        for library in libraries:
            known = [package for package in loaded if any(
                pathlib.Path(line).name == pathlib.Path(library).resolve().name for line in run("dpkg", "-L", package).split("\n"))]
            expect(known, f"no package in the SBOM has {library}")
        for package in versions.keys() - {"longhaul"}:
            expect(run("dpkg-query", "-W", "-f", "${Version}\n", package).split("\n")[0] == versions[package], f"{package}: {versions[package]}")
        for package in ("libdpdk-dev", "nlohmann-json3-dev", "libcli11-dev"):
            expect(package in versions, f"{package} is not in the SBOM, though the program has its code")


def workflows(_):
    """the workflows run .ci/run, which exists, and the release one tools/release"""
    for name, commands in (("ci.yml", (".ci/run",)), ("release.yml", (".ci/run", "tools/release"))):
        text = (REPOSITORY / ".github/workflows" / name).read_text(encoding="utf-8")
        for command in commands:
            expect(re.search(rf"^\s+(?:run: )?{re.escape(command)}\b", text, re.M), f"{name} does not run {command}")
            expect((REPOSITORY / command).stat().st_mode & 0o111, f"{command} cannot be run")


CASES = {"release": release, "workflows": workflows}
