"""The packages' shape: imports point one way, every module has a mirrored test, doors are honest."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What each package may import of ours; a trailing ".wire" limits it to that module.
ALLOWED = {
    "bundles": set(),
    "engine": set(),
    "daemon": {"bundles", "engine.wire"},
    "judge": {"bundles"},
    "replay": {"bundles", "judge", "daemon.wire", "engine.wire"},
}
ONLY_IMPORTER = {"llama_cpp": "engine/model.py", "duckdb": "bundles/store.py"}
NO_MIRROR = {"__init__.py", "__main__.py"}


def modules() -> list[Path]:
    return sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Absolute dotted names that a file imports, and whether at the file's top level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            yield name, id(node) in top


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
class TestModule:
    def test_imports_point_down(self, path: Path) -> None:
        package = path.relative_to(ROOT).parts[0]
        for name, _ in imports(path):
            if name.split(".")[0] in ALLOWED and name.split(".")[0] != package:
                assert any(name == door or name.startswith(door + ".") for door in ALLOWED[package]), (
                    f"{path} imports {name}"
                )

    def test_own_modules_are_imported_at_the_top(self, path: Path) -> None:
        late = [name for name, top in imports(path) if not top and name.split(".")[0] in ALLOWED]
        assert not late, f"{path} imports {late} inside a function"

    def test_a_binding_has_one_importer(self, path: Path) -> None:
        for name, _ in imports(path):
            owner = ONLY_IMPORTER.get(name.split(".")[0])
            assert owner is None or path == ROOT / owner, f"{path} imports {name}"

    def test_has_a_mirrored_test_file(self, path: Path) -> None:
        if path.name in NO_MIRROR:
            return
        relative = path.relative_to(ROOT)
        assert (ROOT / "tests" / relative.parent / f"test_{path.name}").exists()


@pytest.mark.parametrize("package", ["bundles", "judge"])
def test_public_door_exports_exactly_what_it_imports(package: str) -> None:
    door = importlib.import_module(package)
    public = {name for name, _ in imports(ROOT / package / "__init__.py")}
    assert sorted(door.__all__) == sorted(name.rsplit(".", 1)[1] for name in public)
