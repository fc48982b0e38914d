"""A hook of mkdocs: checks links. Links to files of the source, which are not pages, become their paths."""
import logging
import pathlib
import re

log = logging.getLogger("mkdocs")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def anchors(path):
    headings = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def with_checked_links(source, markdown):
    def checked(link):
        text, target = link[2], link[3]
        if link[1] or re.match(r"[a-z]+:", target):  # code, or another host
            return link[0]
        name, _, anchor = target.partition("#")
        path = (source.parent / name).resolve() if name else source
        if not path.exists():
            log.warning("%s: dead link: %s", source.name, target)
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            log.warning("%s: no such heading: %s", source.name, target)
        if path.is_relative_to(ROOT / "docs"):
            return link[0]
        shown = f"`{path.relative_to(ROOT)}`"
        return shown if text == path.name else f"{text} ({shown})"

    code = r"^```.*?^```|``.*?``|`[^`]*`(?!\])"
    return re.sub(rf"({code})|(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", checked, markdown, flags=re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown, page, config, files):
    return with_checked_links(pathlib.Path(page.file.abs_src_path), markdown)


def on_pre_build(config):
    for path in ROOT.glob("*.md"):
        with_checked_links(path, path.read_text(encoding="utf-8"))
