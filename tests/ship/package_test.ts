/** The npm packages, as a stranger gets them: their tarballs in a new project. */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build, stop } from "esbuild";
import { publint } from "publint";
import { launch } from "puppeteer-core";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import type { TypedData } from "../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import type { StackUrls } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { atUrls, fileUrl, hasProgram, hasVolatility, readText, run, withStack } from "./support.ts";

/** Gzipped, with every package that it depends on. */
const BUNDLE_BYTES_MAX = 40_000;

/** The runners' own limits, 5 and 10 s, are short for a chain that starts on a busy machine. */
const HOOK_MS = "60000";

/** Bun itself: the package `bun` brings a second copy of it. */
const BUN = `@oven/bun-linux-${Deno.build.arch === "x86_64" ? "x64" : "aarch64"}`;

/** What a project needs beside the packages; the newest TypeScript, as in a new project. */
const PACKAGES = [
  config.imports.viem,
  config.imports.ws,
  config.imports["@types/ws"],
  "typescript@7.0.2",
  "vitest@4.1.12",
  `${BUN}@1.4.5`,
].map((specifier) => specifier.replace("npm:", ""));

const installed = (folder: string, name: string) => `${folder}/node_modules/.bin/${name}`;
const bunOf = (folder: string) => `${folder}/node_modules/${BUN}/bin/bun`;

async function succeed(name: string, args: string[], cwd: string): Promise<string> {
  const { code, text, stdout } = await run(name, args, { cwd });
  assert.equal(code, 0, `${name} ${args.join(" ")}: ${text}`);
  return stdout.trim();
}

/** What the packages are built from. */
const SOURCES = [".ci", "deno.json", "deno.lock", "docs", "lib", "LICENSE", "services"];

/**
 * Packs client and test kit, from a checkout in a folder whose name differs in a URL, and installs
 * both into a new project. @returns Their tarballs.
 */
async function installInto(folder: string): Promise<string[]> {
  const [checkout, built] = [`${folder}/my checkout ü`, `${folder}/built`];
  for (const name of SOURCES) {
    await cp(fileUrl(name), `${checkout}/${name}`, { recursive: true });
  }
  await succeed(Deno.execPath(), ["task", "--quiet", "package", built], checkout);
  const packages = ["./client", "./testing"];
  const pack = ["pack", "--silent", "--pack-destination", folder, ...packages];
  const packed = await succeed("npm", pack, built);
  const tarballs = packed.split("\n").slice(-packages.length).map((name) => `${folder}/${name}`);
  await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify({ type: "module" }));
  // Nothing is asked again of the registry that npm has in its cache.
  const flags = ["--silent", "--no-audit", "--no-fund", "--prefer-offline"];
  await succeed("npm", ["install", ...flags, ...tarballs, ...PACKAGES], folder);
  return tarballs;
}

/** A program that starts a chain, and never stops it. */
const FORGETFUL = `import { startChain } from "@rangemaker/testing";
const { urls } = await startChain({ wallets: 0 });
console.log((await fetch(urls.solver + "/health")).status, urls.solver);`;

async function gzippedBytes(content: Uint8Array<ArrayBuffer>): Promise<number> {
  const stream = new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).bytes()).length;
}

/** Compiles TypeScript as strictly as it can be, declarations of packages included. */
async function compile(
  folder: string,
  [module, moduleResolution]: [string, string],
  more: string[],
): Promise<void> {
  const flags = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  const target = ["--target", "es2022", "--lib", "es2023,dom,dom.iterable"];
  const modules = ["--module", module, "--moduleResolution", moduleResolution];
  const args = ["--noEmit", "--pretty", "false", ...flags, ...target, ...modules];
  await succeed(installed(folder, "tsc"), [...args, ...more], folder);
}

const requestSchema = z.object({ method: z.string(), params: z.array(z.unknown()).default([]) });

/** A browser wallet that knows one other chain, and signs everything. */
class BrowserWallet {
  readonly requests: { method: string; params: unknown[] }[] = [];
  readonly #account = privateKeyToAccount(DEV_ACCOUNTS.admin.privateKey);
  #chainId = "0x1";
  #isChainKnown = false;

  async answer(request: unknown): Promise<{ result?: unknown; error?: { code: number } }> {
    const { method, params } = requestSchema.parse(request);
    this.requests.push({ method, params });
    switch (method) {
      case "eth_requestAccounts":
        return { result: [this.#account.address.toLowerCase()] };
      case "eth_chainId":
        return { result: this.#chainId };
      case "wallet_switchEthereumChain":
        return this.#isChainKnown ? { result: null } : { error: { code: 4902 } };
      case "wallet_addEthereumChain":
        [this.#isChainKnown, this.#chainId] = [true, "0x539"];
        return { result: null };
      case "eth_signTypedData_v4": {
        const typedData: TypedData = JSON.parse(String(params[1]));
        return { result: await this.#account.signTypedData(typedData) };
      }
    }
    return { error: { code: 4200 } };
  }
}

/** Opens the page of the examples in Chromium, and bets on it. @returns What the page showed. */
async function betOnPage(url: string, wallet: BrowserWallet): Promise<string[]> {
  await using browser = await launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const page = await browser.newPage();
  await page.exposeFunction("askWallet", (request: unknown) => wallet.answer(request));
  await page.evaluateOnNewDocument(`globalThis.ethereum = {
      async request(args) {
        const { result, error } = await askWallet(args);
        if (error) throw Object.assign(new Error("refused"), error);
        return result;
      },
    };`);
  await page.goto(url);
  await page.click("#bet");
  const ended = "/: | is (won|lost)$/.test(document.querySelector('li:last-child')?.textContent)";
  await page.waitForFunction(ended, { timeout: 30_000 });
  return z.array(z.string()).parse(
    await page.$$eval("li", (items) => items.map(({ textContent }) => textContent)),
  );
}

Deno.test("npm packages: are valid, small and typed, and play a bet in every runtime", {
  timeout: 600_000,
}, async (t) => {
  const folder = await Deno.makeTempDir();
  try {
    const tarballs = await installInto(folder);

    await t.step("publint and are-the-types-wrong find nothing", async () => {
      assert.equal(tarballs.length, 2);
      for (const tarball of tarballs) {
        const data = await Deno.readFile(tarball);
        const { messages } = await publint({ pack: { tarball: data.buffer }, strict: true });
        assert.deepEqual(messages, []);
        const checked = await checkPackage(createPackageFromTarballData(data));
        assert(checked.types !== false, "The package has no types");
        // It is a module only: Node from version 20 on can `require` it too, with a flag or
        // without.
        const problems = checked.problems.filter(({ kind }) => kind !== "CJSResolvesToESM");
        assert.deepEqual(problems, []);
      }
    });

    await t.step("the READMEs link to nothing outside the package", async () => {
      for (const name of ["client", "testing"]) {
        const path = `${folder}/node_modules/@rangemaker/${name}/README.md`;
        assert.doesNotMatch(await Deno.readTextFile(path), /\]\((?!#|https?:)/, name);
      }
    });

    await t.step("strict projects compile with it under every module resolution", async () => {
      for (const name of ["typed.ts", "wallets.ts"]) {
        await Deno.copyFile(fileUrl(`tests/ship/package/${name}`), `${folder}/${name}`);
      }
      await Promise.all([
        compile(folder, ["node16", "node16"], ["typed.ts"]),
        // viem has many errors of its own, which do not concern this package.
        compile(folder, ["esnext", "bundler"], ["--skipLibCheck", "typed.ts", "wallets.ts"]),
      ]);
    });

    await t.step("a bundle with all dependencies has less than 40 kB", async () => {
      const { outputFiles: [file] } = await build({
        stdin: { contents: 'export * from "@rangemaker/client"', resolveDir: folder },
        bundle: true,
        minify: true,
        format: "esm",
        write: false,
      });
      const bytes = await gzippedBytes(new Uint8Array(file?.contents ?? []));
      assert(bytes > 20_000 && bytes < BUNDLE_BYTES_MAX, `${bytes} bytes`);
    });

    await t.step("the page of the tutorial bundles with it", async () => {
      const tutorial = readText("docs/tutorial.md");
      for (const name of ["page", "box", "chain"]) {
        const block = new RegExp(`\`${name}\\.ts\`:\n\n\`\`\`ts\n([^]*?)\`\`\``);
        const [, program = assert.fail(name)] = block.exec(tutorial) ?? [];
        const text = program.replace("../lib/client/mod.ts", "@rangemaker/client");
        await Deno.writeTextFile(`${folder}/${name}.ts`, text);
      }
      const { warnings } = await build({
        entryPoints: [`${folder}/page.ts`],
        bundle: true,
        format: "esm",
        write: false,
      });
      assert.deepEqual(warnings, []);
    });

    await t.step("the examples of the test kit pass in Node, Bun, Deno and Vitest", async () => {
      for (const name of ["test-bet.mjs", "bet.spec.mjs"]) {
        await Deno.copyFile(fileUrl(`docs/examples/${name}`), `${folder}/${name}`);
      }
      await succeed("node", ["--test", "test-bet.mjs"], folder);
      await succeed(bunOf(folder), ["test", "--timeout", HOOK_MS, "./test-bet.mjs"], folder);
      // Packages beside it have types for other runtimes.
      await succeed(Deno.execPath(), ["test", "-A", "--no-check", "test-bet.mjs"], folder);
      const limits = ["--hookTimeout", HOOK_MS, "--testTimeout", HOOK_MS];
      await succeed(installed(folder, "vitest"), ["run", ...limits, "bet.spec.mjs"], folder);
    });

    const runtimes: [string, string[]][] = [
      ["node", []],
      [bunOf(folder), []],
      [Deno.execPath(), ["run", "--allow-all"]],
    ];

    await t.step(
      "a test chain that is not stopped ends with its program, in each runtime",
      async () => {
        await Deno.writeTextFile(`${folder}/forgetful.mjs`, FORGETFUL);
        for (const [program, args] of runtimes) {
          const line = await succeed(program, [...args, "forgetful.mjs"], folder);
          const [status, url = ""] = line.split(" ");
          assert.equal(status, "200", program);
          await eventually(
            "no answer",
            () => fetch(url).then((answer) => answer.body?.cancel(), () => true),
          );
        }
      },
    );

    await withStack(async ({ urls }) => {
      await hasVolatility(urls);
      await Deno.writeTextFile(
        `${folder}/bet.mjs`,
        atUrls(readText("docs/examples/bet.mjs"), urls),
      );

      await t.step("the example runs in Node, Bun and Deno", async () => {
        await Promise.all(runtimes.map(async ([program, args]) => {
          const outcome = await succeed(program, [...args, "bet.mjs"], folder);
          assert.match(outcome, /^(won, balance 1\d\d\.\d+|lost, balance 90) USDC$/);
        }));
      });

      await t.step({
        name: "the page bets in Chromium, also with a wallet on another chain",
        ignore: !hasProgram("chromium"),
        fn: () => playOnPage(folder, urls),
      });
    });
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
});

async function playOnPage(folder: string, urls: StackUrls): Promise<void> {
  const { outputFiles: [script] } = await build({
    stdin: {
      contents: atUrls(readText("docs/examples/page/page.js"), urls).replace("10_000", "1_000"),
      resolveDir: folder,
    },
    bundle: true,
    write: false,
  });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const isScript = new URL(request.url).pathname.endsWith(".js");
    const body = isScript ? script?.text : readText("docs/examples/page/index.html");
    const type = isScript ? "text/javascript" : "text/html";
    return new Response(body ?? null, { headers: { "content-type": type } });
  });
  const wallet = new BrowserWallet();
  const shown = await betOnPage(`http://127.0.0.1:${server.addr.port}/`, wallet);
  // Signed again each time the price has moved. What it pays follows from a few seconds of prices.
  assert.match(
    shown.join("\n"),
    /^You are 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\n(Sign to bet 10 USDC; it pays [1-9]\d+\.\d+ if you win\n)+Thesis (\d+) is open\nThesis \2 is (won|lost)$/,
  );
  const quotes = shown.filter((line) => line.startsWith("Sign to bet")).length;
  const methods = wallet.requests.map(({ method }) => method);
  assert(methods.includes("wallet_addEthereumChain"), methods.join());
  const signings = wallet.requests.filter(({ method }) => method === "eth_signTypedData_v4");
  assert.equal(signings.length, quotes + 1, `${methods}: the deposit and each quote`);
  for (const { params: [, text] } of signings) {
    const { types, message }: TypedData = JSON.parse(String(text));
    assert(types.EIP712Domain !== undefined);
    // Wallets treat numbers differently; all accept decimal text.
    for (const value of Object.values(message)) assert.equal(typeof value, "string");
  }
}
