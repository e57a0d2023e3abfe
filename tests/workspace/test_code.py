"""Other languages: one reading for all grammars; skipped where the `code` extra is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from crp_mcp.workspace.code import code_parsers
from crp_mcp.workspace.corpus import open_workspace

SOURCES = {
    "shop.js": "/** Sells things. */\nexport class Shop extends Base {\n  sell(x) {\n    return this.price(x);\n  }\n"
    "  price(x) {\n    return x;\n  }\n}\nconst start = () => {\n  new Shop().sell(1);\n};\n",
    "shop.ts": "interface Priced { price(): number }\nclass Shop implements Priced {\n"
    "  price(): number {\n    return 1;\n  }\n}\n",
    "shop.go": "package shop\n\n// Shop sells things.\ntype Shop struct{}\n\n"
    "func (s *Shop) Sell() {\n\tprice()\n}\n\nfunc price() {}\n",
    "shop.rs": "struct Shop;\nimpl Shop {\n    fn sell(&self) {\n        price();\n    }\n}\nfn price() {}\n",
    "Shop.java": "class Shop extends Base {\n  void sell() {\n    price();\n  }\n  void price() {}\n}\n",
    "shop.c": "int price(void) {\n  return 1;\n}\nint sell(void) {\n  return price();\n}\n",
    "shop.rb": "class Shop < Base\n  def sell\n    price(1)\n  end\n\n  def price(x)\n    x\n  end\nend\n",
    "shop.cs": "class Shop : Base {\n  void Sell() {\n    Price();\n  }\n  void Price() {}\n}\n",
    "shop.cpp": "class Shop {\n  int price() { return 1; }\n};\nint sell() { return price(); }\n",
}


@pytest.mark.parametrize("name", SOURCES)
def test_types_and_functions_of_other_languages_are_nodes(tmp_path: Path, name: str) -> None:
    """Classes and functions are found, with their lines, and a call leads to what it calls and back."""
    ending = "." + name.rpartition(".")[2]
    if ending not in code_parsers():
        pytest.skip("the `code` extra is not installed")
    (tmp_path / name).write_text(SOURCES[name])
    at = open_workspace([tmp_path], code_parsers())
    at.refresh()
    names = {one.name.lower() for _, _, one in at.tree if one.path}
    assert "price" in names
    assert "shop" in names or ending == ".c"
    assert all(uri.startswith("uko-code:") for uri, _ in at.search({"price": 1.0, "shop": 1.0}, 50))
    if ending not in (".ts",):
        sells = [uri for uri in at.resolve("Sell" if ending in (".go", ".cs") else "sell") if "function" in uri]
        called = {uri for relation, uri in at.neighbours(sells[0]) if relation == "calls"}
        assert any(uri.lower().endswith("price") for uri in called)


def test_documentation_is_the_comment_above(tmp_path: Path) -> None:
    """The first sentence of the comment right above a definition is its purpose."""
    if ".js" not in code_parsers():
        pytest.skip("the `code` extra is not installed")
    (tmp_path / "shop.js").write_text(SOURCES["shop.js"])
    at = open_workspace([tmp_path], code_parsers())
    at.refresh()
    node = at.node("uko-code:class/shop.js:Shop")
    assert node is not None
    assert node.summary == "Sells things."
    assert any("extends Base" in line for line in node.shape)


def test_files_of_a_language_without_a_grammar_are_not_read(tmp_path: Path) -> None:
    """Without parsers other languages give no nodes, and nothing is opened."""
    (tmp_path / "shop.js").write_text(SOURCES["shop.js"])
    at = open_workspace([tmp_path])
    assert at.refresh() == 0
