/** The client runs where there is no Deno: its imports are plain, and Node plays a bet with it. */
import assert from "node:assert/strict";
import { z } from "zod";
import { RangemakerClient } from "../../../lib/client/mod.ts";
import { systemClock } from "../../../lib/clock.ts";
import { waitForPrices } from "../../../services/stack/bet.ts";
import { FREE_PORTS, startStack } from "../../../services/stack/stack.ts";
import { withFolder } from "../../support/files.ts";

const root = new URL("../../../", import.meta.url);

const graphSchema = z.object({
  roots: z.array(z.string()),
  modules: z.array(z.object({
    specifier: z.string(),
    dependencies: z.array(z.object({
      specifier: z.string(),
      /** Absent for imports of types alone. */
      code: z.object({ specifier: z.string().optional() }).optional(),
    })).default([]),
  })),
});

/** Every file of the project that is loaded with the client, and every package. */
async function loadedWith(entry: string): Promise<{ files: string[]; packages: string[] }> {
  const info = await run(Deno.execPath(), ["info", "--json", new URL(entry, root).pathname]);
  assert.equal(info.code, 0, info.stderr);
  const { roots, modules } = graphSchema.parse(JSON.parse(info.stdout));
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const files = new Set(roots);
  const packages = new Set<string>();
  for (const file of files) { // grows while it is read
    for (const { specifier, code } of bySpecifier.get(file)?.dependencies ?? []) {
      if (code === undefined) continue;
      const target = code.specifier ?? specifier;
      if (target.startsWith("file:")) files.add(target);
      else packages.add(specifier);
    }
  }
  return { files: [...files], packages: [...packages] };
}

async function run(program: string, args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd: root,
    stdout: "piped",
    stderr: "piped",
  }).output();
  const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: textOf(stdout), stderr: textOf(stderr) };
}

/** What Node 20 or browsers lack, or lacked until lately. */
const NOT_PORTABLE =
  /\bDeno\.\w|["']node:|\bBuffer\b|\bprocess\.|\.(toHex|fromHex)\(|withResolvers|\bErrorEvent\b|URL\.parse|Array\.fromAsync|Promise\.try|import\.meta\.|^const .* = await /m;

Deno.test("Client: nothing that is loaded with it needs Deno, Node, or a new browser", async () => {
  const { files, packages } = await loadedWith("lib/client/mod.ts");
  assert(files.length > 20, files.join("\n"));
  for (const file of files) {
    const found = NOT_PORTABLE.exec(await Deno.readTextFile(new URL(file)));
    assert.equal(found?.[0], undefined, file);
  }
  assert.deepEqual(packages.sort(), [
    "@noble/hashes/sha3",
    "@noble/hashes/utils",
    "@noble/secp256k1",
    "zod/mini",
  ]);
});

const node = await run("node", ["--version"]).catch(() => undefined);
const nodeMajor = Number(/^v(\d+)/.exec(node?.stdout ?? "")?.[1] ?? 0);

/** Bundles the program for browsers: what is special to a runtime would be missing. */
async function bundle(folder: string): Promise<string> {
  const path = `${folder}/bet.mjs`;
  const entry = "tests/lib/client/plain_bet.ts";
  const flags = ["--platform", "browser", "--external", "node:process"];
  const bundled = await run(Deno.execPath(), ["bundle", ...flags, "-o", path, entry]);
  assert.equal(bundled.code, 0, bundled.stderr);
  return path;
}

Deno.test({
  name:
    "Client: Node plays a bet from deposit to settlement; without a WebSocket, a watch says what to do",
  ignore: nodeMajor < 20,
  async fn() {
    await using stack = await startStack({ ports: FREE_PORTS, seed: 1 });
    const client = new RangemakerClient({ urls: stack.urls, chainId: 1337 });
    await waitForPrices(stack.urls, client, systemClock);
    await withFolder(async (folder) => {
      const path = await bundle(folder);
      const play = async (...flags: string[]) => {
        const played = await run("node", [...flags, path, JSON.stringify(stack.urls)]);
        assert.equal(played.code, 0, played.stderr);
        return JSON.parse(played.stdout);
      };
      // From 22 on, Node has one without a flag.
      if (nodeMajor < 22) assert.equal((await play()).outcome, "NO_WEBSOCKET");
      const flags = nodeMajor < 22 ? ["--experimental-websocket"] : [];
      const { multiplier, outcome, balance } = await play(...flags);
      assert.match(multiplier, /^1\.(0[5-9]|10)\d\d$/);
      assert.match(outcome, /^(won|lost)$/);
      assert.equal(BigInt(balance) > 100_000_000n, outcome === "won");
    });
  },
});
