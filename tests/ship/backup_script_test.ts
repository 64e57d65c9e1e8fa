/** `docs/deployment/backup` with programs that stand in for those of the machine. */
import assert from "node:assert/strict";

const SCRIPT = new URL("../../docs/deployment/backup", import.meta.url);

/** Runs the script at given times, one after the other. @returns The folder of the copies. */
async function backUpAt(folder: string, times: readonly string[]): Promise<string> {
  const to = `${folder}/backups`;
  const script = `${folder}/backup`;
  const text = await Deno.readTextFile(SCRIPT);
  await Deno.writeTextFile(script, text.replaceAll("/var/backups/rangemaker", to));
  const programs = {
    date: 'echo "$NOW"',
    rangemaker: 'for last; do :; done; echo "$NOW" > "$last"',
  };
  for (const [name, body] of Object.entries(programs)) {
    await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
  for (const NOW of times) {
    const env = { NOW, PATH: `${folder}:${Deno.env.get("PATH")}` };
    const { success, stderr } = await new Deno.Command("sh", { args: [script, "node"], env })
      .output();
    assert(success, new TextDecoder().decode(stderr));
    assert.equal(await Deno.readTextFile(`${to}/latest/chain.sqlite`), `${NOW}\n`);
  }
  return to;
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

const DAYS = [25, 26, 27, 28].map((day) => `2026-11-${day}T03-00-00.000`);

for (
  const [what, times, kept] of [
    ["those of three days", [...DAYS, "2026-11-28T04-00-00.000"], [
      ...DAYS.slice(1),
      "2026-11-28T04-00-00.000",
    ]],
    ["the newest ones after the clock was set back", [...DAYS, "2020-01-01T00-00-09.000"], [
      "2020-01-01T00-00-09.000",
      ...DAYS.slice(1),
    ]],
  ] as const
) {
  Deno.test(`Backup: keeps the copies that latest leads to, and ${what}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      assert.deepEqual(names(await backUpAt(folder, times)), [...kept, "latest"]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
