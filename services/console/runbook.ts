/** Chapters of the operator's documents as pages: the operator's view links to them. */
import { marked } from "marked";
import deploying from "../../docs/deploying.md" with { type: "text" };
import operating from "../../docs/operating.md" with { type: "text" };
import runbooks from "../../docs/runbooks.md" with { type: "text" };

/** The name of a chapter in links, as in the file's own links. */
const slugOf = (heading: string) =>
  heading.toLowerCase().replaceAll(/[^\w\s-]/g, "").replaceAll(/\s/g, "-");

const headingOf = (chapter: string) => /^#+ (.*)$/m.exec(chapter)?.[1] ?? "";

/** Chapters by their names in links. */
const CHAPTERS = new Map(
  [deploying, operating, runbooks].flatMap((document) => document.split(/^(?=##+ )/m))
    .map((chapter) => [slugOf(headingOf(chapter)), chapter]),
);

/** Rendered chapters by their names in links, rendered once, since anybody may request them. */
const bodies = new Map<string, string>();

/**
 * A chapter as a document.
 *
 * @param name Its heading, or its name in links.
 * @param stylesheet Path of the page's styles.
 * @returns Undefined if there is no such chapter.
 */
export function runbookPage(name: string, stylesheet: string): string | undefined {
  const slug = slugOf(name);
  const chapter = CHAPTERS.get(slug);
  if (chapter === undefined) return undefined;
  const body = bodies.get(slug) ?? bodyOf(chapter);
  bodies.set(slug, body);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${headingOf(chapter)} · Runbook of rangemaker</title>
    <link rel="icon" href="/icon.svg" />
    <link rel="stylesheet" href="${stylesheet}" />
  </head>
  <body>
    <div id="page">
      <header class="top">
        <div class="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          <strong>rangemaker runbook</strong>
        </div>
        <nav class="tabs" aria-label="Views"><a href="/#operator">← Operator</a></nav>
      </header>
      <main class="card prose">
        ${body}
      </main>
    </div>
  </body>
</html>
`;
}

/** Links to other files, which are not served here, become plain text. */
function bodyOf(chapter: string): string {
  const text = chapter.replaceAll(/\]\((?:(?:deploying|operating|runbooks)\.md)?#/g, "](/runbook/")
    .replaceAll(/\[([^\]]*)\]\((?!\/runbook\/|https?:)[^)]*\)/g, "$1");
  return marked.parse(text, { async: false });
}
