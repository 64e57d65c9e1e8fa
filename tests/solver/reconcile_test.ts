import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { runHere } from "../support/command_context.ts";
import { post } from "../support/http_answers.ts";
import { withFolder } from "../support/files.ts";
import { execution, user, withSolver } from "./support.ts";

Deno.test("solver reconcile: ends a bet that a restored node lacks, once", () =>
  withFolder(async (folder) => {
    const database = `${folder}/solver.sqlite`;
    await withSolver(async ({ url }, node) => {
      assert.equal((await post(`${url}/execute`, await execution(url))).status, 200);
      const { privateKey } = DEV_ACCOUNTS.solver;
      const options = ["--rpc-url", node.url, "--database", database, "--private-key", privateKey];
      const reconcile = async () => {
        const { code, stdout } = await runHere(["solver", "reconcile", ...options]);
        assert.equal(code, 0, stdout);
        return stdout.split("\n");
      };
      assert.deepEqual(await reconcile(), ["0 gone, 1 were there, 0 failed"]);
      node.rewind();
      node.methods.set("core_getThesis", () => null);
      const [line = "", ...rest] = await reconcile();
      assert.match(line, new RegExp(`^Gone: thesis \\d+ of ${user.address}, 10 USDC`));
      assert.deepEqual(rest, ["1 gone, 0 were there, 0 failed"]);
      assert.deepEqual(await reconcile(), ["0 gone, 0 were there, 0 failed"]);
    }, { database });
  }));
