/** The page as files in memory: bundled from its sources, or read from a finished bundle. */
import config from "../../deno.json" with { type: "json" };
import { messageOf, RangemakerError } from "../../lib/errors.ts";

/** One file of the page, ready to be served. */
export interface PageFile {
  mediaType: string;
  etag: string;
  plain: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
}

/** Files by the path of their URL. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The page cannot be bundled. */
export class PageError extends RangemakerError {
  constructor(reason: string, cause?: unknown) {
    super("CONSOLE_PAGE", `The console's page cannot be bundled: ${reason}`, { cause });
  }
}

/** Place of the finished bundle in an image or executable: beside the program. */
const BUILT_FOLDER = "console_page/";

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** The document. Scripts and styles are files, so that the policy can forbid inline ones. */
const DOCUMENT = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Bet that a price stays in a box: draw it, sign it, watch it win.">
<meta name="generator" content="rangemaker console ${config.version}">
<title>rangemaker</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/main.css">
<link rel="preload" href="/config.json" as="fetch" crossorigin>
<script type="module" src="/main.js"></script>
</head>
<body>
<div id="page"><p class="boot">Loading the console …</p></div>
<noscript><p class="boot">The console needs JavaScript.</p></noscript>
</body>
</html>
`;

/** The icon of the page: a price line inside a box. */
const ICON =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="5" y="8" width="22" height="16" rx="3" fill="#4f46e5"/><path d="M5 18l5-4 5 5 5-6 7 4" fill="none" stroke="#fff" stroke-width="2.5" stroke-linejoin="round"/></svg>`;

/**
 * Loads the page. It reads the sources and the packages, so it runs before a command gives up its
 * access to files.
 *
 * @throws {PageError} If it cannot be bundled.
 */
export async function loadPage(): Promise<PageFiles> {
  const built = await readBuilt() ?? await bundle();
  const encoder = new TextEncoder();
  const files = { "index.html": encoder.encode(DOCUMENT), "icon.svg": encoder.encode(ICON) };
  const entries = [...Object.entries(files), ...built].map(
    async ([name, bytes]): Promise<[string, PageFile]> => [`/${name}`, await fileOf(name, bytes)],
  );
  return new Map(await Promise.all(entries));
}

type NamedBytes = [name: string, bytes: Uint8Array<ArrayBuffer>];

async function readBuilt(): Promise<NamedBytes[] | undefined> {
  const read = async (name: string): Promise<NamedBytes> => [
    name,
    await Deno.readFile(new URL(BUILT_FOLDER + name, import.meta.url)),
  ];
  try {
    return await Promise.all([read("main.js"), read("main.css")]);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw new PageError(messageOf(thrown), thrown);
  }
}

async function bundle(): Promise<NamedBytes[]> {
  const entry = new URL("page/main.tsx", import.meta.url);
  const result = await Deno.bundle({
    entrypoints: [decodeURIComponent(entry.pathname)],
    platform: "browser",
    minify: true,
    write: false,
    outputDir: "page",
  }).catch((thrown: unknown) => {
    throw new PageError(`${messageOf(thrown)}; the first run downloads esbuild`, thrown);
  });
  const [error] = result.errors;
  if (!result.success || result.outputFiles === undefined) {
    const { pathname } = new URL("../../deno.json", import.meta.url);
    throw new PageError(
      `${error?.text ?? "Deno.bundle gave no reason"}; ` +
        `outside of the checkout, deno run needs --config ${decodeURIComponent(pathname)}`,
    );
  }
  return result.outputFiles.map((file) => {
    const name = file.path.split(/[\\/]/).at(-1) ?? file.path;
    return [name, Uint8Array.from(file.contents ?? new TextEncoder().encode(file.text()))];
  });
}

async function fileOf(name: string, plain: Uint8Array<ArrayBuffer>): Promise<PageFile> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", plain));
  const packed = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
  return {
    mediaType: MEDIA_TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
    etag: `"${digest.slice(0, 16).toHex()}"`,
    plain,
    gzip: new Uint8Array(await new Response(packed).arrayBuffer()),
  };
}
