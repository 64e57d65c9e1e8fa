/**
 * `deno task compile`, as far as it goes without a network: the runtime part of an executable has to
 * be downloaded, so Deno itself stands in for it. What is embedded is real; what comes out cannot be
 * run.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import config from "../../deno.json" with { type: "json" };
import { fileUrl, run } from "./support.ts";

const target = "x86_64-unknown-linux-gnu";

const metadataSchema = z.object({
  argv: z.array(z.string()),
  permissions: z.object({
    allow_env: z.array(z.string()).nullable(),
    allow_net: z.array(z.string()).nullable(),
    allow_read: z.array(z.string()).nullable(),
    allow_write: z.array(z.string()).nullable(),
    allow_run: z.null(),
    allow_ffi: z.null(),
    allow_sys: z.null(),
  }),
});

/** What Deno wrote into an executable about how it starts. */
async function metadataOf(file: string): Promise<z.output<typeof metadataSchema>> {
  const text = new TextDecoder("latin1").decode(await Deno.readFile(file));
  const [, argv] = /"argv":(\[[^\]]*\])/.exec(text) ?? assert.fail("No metadata");
  const [, permissions] = /"permissions":(\{[^}]*\})/.exec(text) ?? assert.fail("No metadata");
  return metadataSchema.parse({
    argv: JSON.parse(argv ?? ""),
    permissions: JSON.parse(permissions ?? ""),
  });
}

async function withExecutables(
  names: string[],
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const outdir = await Deno.makeTempDir();
  try {
    const args = ["task", "compile", `--outdir=${outdir}`, `--target=${target}`, ...names];
    const { code, text } = await run(Deno.execPath(), args, {
      cwd: fileUrl(".").pathname,
      env: { DENORT_BIN: Deno.execPath() },
    });
    assert.equal(code, 0, text);
    await test(`${outdir}/${target}`);
  } finally {
    await Deno.remove(outdir, { recursive: true });
  }
}

Deno.test("compile: each executable starts its command with the permissions of its task", async () => {
  await withExecutables(["bridge", "all"], async (folder) => {
    const bridge = await metadataOf(`${folder}/rangemaker-bridge`);
    assert.deepEqual(bridge.argv, ["bridge"]);
    const [, variables = ""] = /--allow-env=(\S+)/.exec(config.tasks.bridge) ?? [];
    assert.deepEqual(bridge.permissions.allow_env, variables.split(","));
    assert.deepEqual(bridge.permissions.allow_write, ["data"]);

    const { argv, permissions } = await metadataOf(`${folder}/rangemaker`);
    assert.deepEqual(argv, []);
    for (const variable of ["SOLVER_PRIVATE_KEY", "BROADCAST_CAPACITY", "ORACLE_PROVIDERS"]) {
      assert(permissions.allow_env?.includes(variable), variable);
    }
    assert.deepEqual(permissions.allow_net, [], "every host");
    assert.deepEqual(permissions.allow_write, ["data"]);
  });
});

Deno.test("compile: an unknown executable is one clear line, exit code 2", async () => {
  const { code, text } = await run(Deno.execPath(), ["task", "--quiet", "compile", "proxi"], {
    cwd: fileUrl(".").pathname,
  });
  assert.equal(code, 2);
  assert.match(text, /Unknown executable proxi: expected all, solver, bridge/);
});
