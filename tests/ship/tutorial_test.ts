/** The programs of the tutorial, run in order against one stack, print the tutorial's output. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { patternOf } from "./documents.ts";
import { Shell } from "./shell.ts";
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
const NOT_RUN_HERE = /^(deno task (-q )?stack|curl )/;

/** Starts the solver of step 5. */
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
