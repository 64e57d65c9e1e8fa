/** The client's imports need no Deno; `tests/ship/package_test.ts` runs it elsewhere. */
import assert from "node:assert/strict";
import { z } from "zod";

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
  const args = ["info", "--json", new URL(entry, root).pathname];
  const { success, stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert(success);
  const { roots, modules } = graphSchema.parse(JSON.parse(new TextDecoder().decode(stdout)));
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

/** What Node 20 or browsers lack, or lacked until lately. */
const NOT_PORTABLE =
  /\bDeno\.\w|["']node:|\bBuffer\b|\bprocess\.|\.(toHex|fromHex)\(|withResolvers|\bErrorEvent\b|URL\.parse|Array\.fromAsync|Promise\.try|import\.meta\.|^const .* = await /m;

Deno.test("Client: none of its modules needs Deno, Node or a recent browser", async () => {
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
