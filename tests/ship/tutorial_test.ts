/** The programs of the tutorial, run in order against one stack, print the tutorial's output. */
import assert from "node:assert/strict";
import { patternOf } from "./documents.ts";
import { fileUrl, hasVolatility, readText, run, withStack } from "./support.ts";
import { withFolder } from "../support/files.ts";

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
const NOT_RUN_HERE = /^(deno task (-q )?stack|curl |SOLVER_PRIVATE_KEY=)|127\.0\.0\.1:3010$/;

Deno.test("docs/tutorial.md: every program runs, and prints the tutorial's output", () =>
  withFolder(async (folder) => {
    await withStack(async ({ urls }) => {
      await hasVolatility(urls);
      const relocated = (text: string) =>
        text.replaceAll('"./lib/', `"${fileUrl("lib/").href}`)
          .replaceAll("http://127.0.0.1:3000", urls.solver)
          .replaceAll("http://127.0.0.1:3001", urls.bridge)
          .replaceAll("http://127.0.0.1:8546", urls.proxy)
          .replaceAll("ws://127.0.0.1:8546/ws", urls.proxyWs);
      for (const step of stepsOf(readText("docs/tutorial.md"))) {
        if ("program" in step) {
          await Deno.writeTextFile(`${folder}/${step.file}`, relocated(step.program));
          continue;
        }
        if (NOT_RUN_HERE.test(step.command)) continue;
        const [, subcommand = "", ...args] = step.command.split(" ");
        const config = ["--config", fileUrl("deno.json").pathname];
        const { code, stdout, text } = await run(
          Deno.execPath(),
          [subcommand, ...config, ...args],
          { cwd: folder },
        );
        assert.equal(code, 0, `${step.command}: ${text}`);
        if (step.output !== "") assert.match(stdout.trim(), patternOf(step.output, relocated));
      }
      assert((await Deno.stat(`${folder}/page.js`)).size > 0);
      assert(readText(".gitignore").split("\n").includes("*.key"));
      for (const key of ["user.key", "solver.key"]) {
        const { mode } = await Deno.stat(`${folder}/${key}`);
        assert.equal((mode ?? assert.fail("No mode")) & 0o777, 0o600, key);
      }
    });
  }));
