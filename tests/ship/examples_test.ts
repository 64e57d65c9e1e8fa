/**
 * The examples of docs/examples and docs/tutorial.md, on a running stack. That in Python
 * signs with eth-account if that is installed, otherwise with a stand-in of the same interface, which
 * lets this test sign.
 */
import assert from "node:assert/strict";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { TypedData } from "../../lib/client/mod.ts";
import { listen } from "../../lib/http/listener.ts";
import config from "../../deno.json" with { type: "json" };
import type { StackUrls } from "../../services/stack/stack.ts";
import { withFolder } from "../support/files.ts";
import { patternOf } from "./documents.ts";
import { Shell } from "./shell.ts";
import {
  atUrls,
  filePath,
  fileUrl,
  hasProgram,
  hasVolatility,
  readText,
  run,
  withStack,
} from "./support.ts";

const root = filePath(".");

/** How Deno can run an example, by docs/client.md: which flags, in what folder, what it imports. */
const WAYS: Record<string, (folder: string) => { flags: string[]; cwd: string; client: string }> = {
  "in a directory of the checkout": () => ({
    flags: [],
    cwd: `${root}docs`,
    client: "../lib/client/mod.ts",
  }),
  "in another directory": (folder) => ({
    flags: ["--config", `${root}deno.json`],
    cwd: folder,
    client: `${root}lib/client/mod.ts`,
  }),
  "in a project that links to it": (folder) => {
    const { viem, ws } = config.imports;
    const own = { links: [root], imports: { viem, ws } };
    Deno.writeTextFileSync(`${folder}/deno.json`, JSON.stringify(own));
    return { flags: [], cwd: folder, client: "@rangemaker/client" };
  },
};

/**
 * Runs a program like `deno run --allow-net --allow-env bet.mjs`, again if a busy node answered too
 * late.
 *
 * @returns Its output.
 */
async function runExample(program: string, flags: string[], cwd: string): Promise<string> {
  // Not as a file: the checkout stays as it is.
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", ...flags, "--allow-net=127.0.0.1", "--allow-env", "-"],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(program));
  await input.close();
  const { code, stdout, stderr } = await child.output();
  const reason = new TextDecoder().decode(stderr);
  if (reason.includes("nothing was recorded, try again")) return runExample(program, flags, cwd);
  assert.equal(code, 0, reason);
  return new TextDecoder().decode(stdout);
}

async function playInDeno(urls: StackUrls): Promise<void> {
  const example = atUrls(readText("docs/examples/bet.mjs"), urls);
  await Promise.all(
    Object.entries(WAYS).map(([name, way]) =>
      withFolder(async (folder) => {
        const { flags, cwd, client } = way(folder);
        const outcome = await runExample(example.replace("@rangemaker/client", client), flags, cwd);
        assert.match(outcome, /^(won, balance 1\d\d\.\d+|lost, balance 90) USDC\n$/, name);
      })
    ),
  );
}

const hasPython = hasProgram("python3");
const hasEthAccount = hasPython && (await run("python3", ["-c", "import eth_account"])).code === 0;

async function runPython(urls: StackUrls): Promise<{ code: number; text: string; stdout: string }> {
  const account = privateKeyToAccount(generatePrivateKey());
  await using signer = listen("127.0.0.1", 0, async (request) => {
    const typedData: TypedData = await request.json();
    return new Response(await account.signTypedData(typedData));
  });
  const standIn: Record<string, string> = hasEthAccount ? {} : {
    PYTHONPATH: filePath("tests/ship"),
    PYTHONDONTWRITEBYTECODE: "1",
    SIGNER_URL: signer.url,
    SIGNER_ADDRESS: account.address,
  };
  const program = atUrls(readText("docs/examples/bet.py"), urls);
  return await run("python3", ["-c", program], { env: standIn });
}

async function playInPython(urls: StackUrls): Promise<void> {
  const { code, text, stdout } = await runPython(urls);
  assert.equal(code, 0, text);
  assert.match(stdout.trim(), /^(won, balance 1\d\d\.\d+|lost, balance 90\.0+) USDC$/);

  // A node that refuses every call, as JSON-RPC does: with status 200.
  await using proxy = listen("127.0.0.1", 0, () => {
    const error = { code: -32002, message: "STORAGE: The disk is full" };
    return Response.json({ jsonrpc: "2.0", id: 1, error });
  });
  const refused = await runPython({ ...urls, proxy: proxy.url });
  assert.deepEqual(
    [refused.code, refused.text],
    [1, "core_getPrices: -32002 STORAGE: The disk is full\n"],
  );

  const gone = await runPython({ ...urls, bridge: "http://127.0.0.1:1" });
  assert.equal(gone.code, 1);
  assert.match(gone.text, /^http:\/\/127\.0\.0\.1:1\S* cannot be reached: .*refused\n$/);
}

/** Part of a name, so that nobody takes the stand-in for the package. */
const signedBy = hasEthAccount ? "eth-account" : "a stand-in: eth-account is not installed";

Deno.test(
  "Examples: each plays a bet on a running stack",
  { timeout: 120_000 },
  (t) =>
    withStack(async ({ urls }) => {
      await hasVolatility(urls);
      await t.step("docs/examples/bet.mjs: with Deno, in every documented way", () =>
        playInDeno(urls));
      await t.step({
        name: `docs/examples/bet.py (signed by ${signedBy}): reports the service or call that ` +
          "failed, exit code 1",
        ignore: !hasPython,
        fn: () =>
          playInPython(urls),
      });
    }),
);

/** A program that the reader saves, or a command that the reader runs, with its output. */
type Step = { file: string; program: string } | { command: string; output: string };

/** The text before a block, the block's language and its content. */
const BLOCK = /([^]*?)^```(\w+)\n([^]*?)^```$/gm;

function stepsOf(tutorial: string): Step[] {
  return [...tutorial.matchAll(BLOCK)].flatMap<Step>(([, prose = "", language, text = ""]) => {
    switch (language) {
      case "ts": {
        const file = [...prose.matchAll(/`(\w+\.ts)`/g)].at(-1)?.[1];
        assert(file !== undefined, `No file name before: ${text}`);
        return [{ file, program: text }];
      }
      case "console": {
        const [first = "", ...output] = text.trimEnd().split("\n");
        return [{ command: first.replace("$ ", ""), output: output.join("\n") }];
      }
      default:
        return []; // the package is built and installed by package_test.ts
    }
  });
}

/** Commands whose effect is tested elsewhere, or that do not end. */
const NOT_RUN_HERE = /^(deno task (-q )?stack|curl )/;

const SOLVER = /^SOLVER_PRIVATE_KEY=\$\(cat (solver\.key)\) deno task -q (?=solver )/;

Deno.test("docs/tutorial.md: every program runs, and prints the tutorial's output", () =>
  withFolder(async (folder) => {
    await withStack(async (stack) => {
      await using shell = new Shell(stack);
      await hasVolatility(stack.urls);
      const relocated = (text: string) =>
        shell.relocated(text.replaceAll('"../lib/', `"${fileUrl("lib/").href}`));
      for (const step of stepsOf(readText("docs/tutorial.md"))) {
        if ("program" in step) {
          await Deno.writeTextFile(`${folder}/${step.file}`, relocated(step.program));
          continue;
        }
        if (NOT_RUN_HERE.test(step.command)) continue;
        const [start, file] = SOLVER.exec(step.command) ?? [];
        if (start !== undefined) {
          const key = await Deno.readTextFile(`${folder}/${file}`);
          await shell.start(step.command.replace(start, "SOLVER_PRIVATE_KEY=0x… deno task "), key);
          await hasVolatility({ ...stack.urls, solver: relocated("http://127.0.0.1:3010") });
          continue;
        }
        const [, subcommand = "", ...args] = relocated(step.command).split(" ");
        const config = ["--config", filePath("deno.json")];
        const { code, stdout, text } = await run(
          Deno.execPath(),
          [subcommand, ...config, ...args],
          { cwd: folder },
        );
        assert.equal(code, 0, `${step.command}: ${text}`);
        if (step.output !== "") assert.match(stdout.trim(), patternOf(step.output, relocated));
      }
      assert((await Deno.stat(`${folder}/page.js`)).size > 0);
      for (const name of ["*.key", "/my/"]) {
        assert(readText(".gitignore").split("\n").includes(name));
      }
      assert(config.exclude.includes("my/"));
      for (const key of ["user.key", "solver.key"]) {
        const { mode } = await Deno.stat(`${folder}/${key}`);
        assert.equal((mode ?? assert.fail("No mode")) & 0o777, 0o600, key);
      }
    });
  }));
