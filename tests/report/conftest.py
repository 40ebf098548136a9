"""A real browser for the pages."""

import os
import shutil
from pathlib import Path

import pytest

_ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Chromium, started once per file of tests; LINCAT_CHROMIUM names another than the system's."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("LINCAT_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no browser: install chromium, or name one in LINCAT_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open HTML from a file, and see to it that it neither fails nor asks for anything else."""
    contexts, troubles = [], []

    def open_page(html, *, width=1100, height=900, **options):
        file = Path(tmp_path) / f"page{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))
        address = file.as_uri()
        page.on(
            "request",
            lambda request: None if request.url == address else troubles.append(request.url),
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []
