/** Files named by options: anywhere in the file system, relative to the user's folder. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { Program } from "../support/process.ts";
import { withFolder } from "../support/files.ts";

const root = new URL("../..", import.meta.url).pathname;
const BRIDGE_KEY = { BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey };

/** Runs a task as its user does in another folder: `deno task --config …/deno.json <name>`. */
function startTask(
  name: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Program {
  return new Program([name, ...args], env, {
    command: Deno.execPath(),
    args: ["task", "--quiet", "--config", `${root}deno.json`],
    cwd,
  });
}

Deno.test("Tasks: relative paths of --database and --data-dir start at the user's folder", () =>
  withFolder(async (folder) => {
    const started = [
      startTask("bridge", ["--port", "0", "--database", "sub/bridge.sqlite"], folder, BRIDGE_KEY),
      startTask(
        "node",
        ["--port", "0", "--read-port", "0", "--oracle-url", "127.0.0.1:9", "--data-dir", "node"],
        folder,
      ),
    ];
    for (const program of started) {
      await program.until(({ stderr }) => stderr.includes("Listening on"));
      program.kill("SIGTERM");
      const { code, stderr } = await program.finished();
      assert.equal(code, 0, stderr);
    }
    assert((await Deno.stat(`${folder}/sub/bridge.sqlite`)).isFile);
    assert((await Deno.stat(`${folder}/node/chain.sqlite`)).isFile);
  }));

Deno.test("Without the task: the error of a path without permission is one line with the missing flags", () =>
  withFolder(async (folder) => {
    const program = new Program(["bridge", "--database", `${folder}/x.sqlite`], BRIDGE_KEY, {
      command: Deno.execPath(),
      args: ["run", "--no-prompt", "--allow-env", "--allow-read=data", `${root}main.ts`],
    });
    const { code, stderr } = await program.finished();
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "--database names a path that this process may not use: start it with deno task bridge, " +
        `or add --allow-read=${folder} --allow-write=${folder} to deno run\n`,
    );
  }));

Deno.test("Tasks: a database in a system folder is refused, without the advice --allow-all", async () => {
  const args = ["--port", "0", "--database", "/proc/bridge.sqlite"];
  const { code, stderr } = await startTask("bridge", args, root, BRIDGE_KEY).finished();
  assert.equal(code, 1);
  assert.match(stderr, /^Cannot use "\/proc": .* closed to this program; choose another path$/m);
  assert.doesNotMatch(stderr, /allow-all/);
});
