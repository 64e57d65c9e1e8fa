/** The page as files in memory: bundled from its sources, or read from a finished bundle. */
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress } from "node:zlib";
import { getMimeType } from "hono/utils/mime";
import { afterInput } from "../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import config from "../../deno.json" with { type: "json" };

type Bytes = Uint8Array<ArrayBuffer>;

/** One file of the page, ready to be served. */
export interface PageFile {
  mediaType: string;
  etag: string;
  /** Its name changes with its content, so browsers may cache it forever. */
  isImmutable: boolean;
  plain: Bytes;
  gzip: Bytes;
  /** The first call starts compression, which takes a second; undefined until then, or if it fails. */
  findBrotli(): Bytes | undefined;
}

/** Files by the path of their URL. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The page cannot be bundled. */
class PageError extends RangemakerError {
  constructor(reason: string, cause?: unknown) {
    super("CONSOLE_PAGE", `The console's page cannot be bundled: ${reason}`, { cause });
  }
}

/** Folder of the finished bundle in an image or executable, beside the program. */
const BUILT_FOLDER = "console_page/";

/** The document. Scripts and styles are files, so that the policy can forbid inline ones. */
const documentOf = (script: string, styles: string) =>
  `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Bet that a price stays in a box: draw it, sign it, watch it win.">
<meta name="generator" content="rangemaker console ${config.version}">
<title>rangemaker</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/${styles}">
<link rel="preload" href="/config.json" as="fetch" crossorigin>
<script src="/no_eval.js"></script>
<script type="module" src="/${script}"></script>
</head>
<body>
<div id="page"><div class="boot"><img src="/icon.svg" alt="" width="48" height="48"><strong>rangemaker</strong><p>Loading prices and your bets …</p></div></div>
<noscript><p class="boot">The console needs JavaScript.</p></noscript>
</body>
</html>
`;

/**
 * Runs before all other code: zod must not try to compile code, which the security policy forbids.
 * A module would run too late, because the bundler loads code that several views share first.
 */
const NO_EVAL = "globalThis.__zod_globalConfig = { jitless: true };\n";

/** The icon of the page: a price line inside a box. */
const ICON =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="5" y="8" width="22" height="16" rx="3" fill="#4f46e5"/><path d="M5 18l5-4 5 5 5-6 7 4" fill="none" stroke="#fff" stroke-width="2.5" stroke-linejoin="round"/></svg>`;

/**
 * Loads the page. Reads the sources and the packages, so it must run before a command drops its
 * access to files.
 *
 * @throws {PageError} If it cannot be bundled.
 */
export async function loadPage(): Promise<PageFiles> {
  const built = await Promise.all((await readBuilt() ?? await bundle()).map(hashed));
  const nameOf = (entry: string) => built.find(({ from }) => from === entry)?.name ?? entry;
  const html = documentOf(nameOf("main.js"), nameOf("main.css"));
  const encoder = new TextEncoder();
  const files = [
    ...built,
    { name: "no_eval.js", bytes: encoder.encode(NO_EVAL) },
    { name: "index.html", bytes: encoder.encode(html) },
    { name: "icon.svg", bytes: encoder.encode(ICON) },
  ];
  const pack = createPacker();
  const entries = files.map(async ({ name, bytes }): Promise<[string, PageFile]> => {
    return [`/${name}`, await toPageFile(name, bytes, pack)];
  });
  return new Map(await Promise.all(entries));
}

type NamedBytes = [name: string, bytes: Bytes];

/** Names that already contain a digest: the bundler adds one to shared parts. */
const HASHED = /-[A-Z0-9]{8}\.js$/;

async function hashed(
  [from, bytes]: NamedBytes,
): Promise<{ from: string; name: string; bytes: Bytes }> {
  if (HASHED.test(from)) return { from, name: from, bytes };
  const digest = (await computeDigest(bytes)).slice(0, 5).toHex().slice(0, 8).toUpperCase();
  return { from, name: from.replace(/\.(\w+)$/, `-${digest}.$1`), bytes };
}

async function computeDigest(bytes: Bytes): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

async function readBuilt(): Promise<NamedBytes[] | undefined> {
  const folder = new URL(BUILT_FOLDER, import.meta.url);
  try {
    const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    return await Promise.all(
      names.map(async (name): Promise<NamedBytes> => [
        name,
        await Deno.readFile(new URL(name, folder)),
      ]),
    );
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
    codeSplitting: true,
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

async function toPageFile(name: string, plain: Bytes, pack: Packer): Promise<PageFile> {
  const packed = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
  return {
    mediaType: getMimeType(name) ?? "application/octet-stream",
    etag: `"${(await computeDigest(plain)).slice(0, 16).toHex()}"`,
    isImmutable: /-[A-Z0-9]{8}\.\w+$/.test(name),
    plain,
    gzip: new Uint8Array(await new Response(packed).arrayBuffer()),
    findBrotli: pack(name, plain),
  };
}

/** 64 KiB, the size of a block that Brotli compresses at once, as a power of two. */
const BLOCK_BITS = 16;

type Packer = (name: string, plain: Bytes) => PageFile["findBrotli"];

/**
 * Compresses with Brotli, one file after the other and in blocks of 0.1 s: the runtime does it on the
 * thread that serves everything else, which is served in between.
 */
function createPacker(): Packer {
  let last: Promise<void> = Promise.resolve();
  return (name, plain) => {
    let isStarted = false;
    let packed: Bytes | undefined;
    const pack = async () => {
      const brotli = createBrotliCompress({
        params: { [constants.BROTLI_PARAM_LGBLOCK]: BLOCK_BITS },
      });
      packed = Uint8Array.from(await pipeline(toBlocks(plain), brotli, buffer));
    };
    return () => {
      if (!isStarted) last = last.then(pack).catch((thrown) => logUnpacked(name, thrown));
      isStarted = true;
      return packed;
    };
  };
}

async function* toBlocks(plain: Bytes): AsyncGenerator<Bytes> {
  const size = 2 ** BLOCK_BITS;
  for (let at = 0; at < plain.length; at += size) {
    await new Promise<void>(afterInput);
    yield plain.subarray(at, at + size);
  }
}

function logUnpacked(file: string, thrown: unknown): void {
  const facts = { file, reason: messageOf(thrown) };
  serviceLog("console").warn("{file} is served with gzip, not Brotli: {reason}", facts);
}
