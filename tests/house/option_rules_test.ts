/** Wrong values of options are refused in our words; settings in one section are known on both sides. */
import assert from "node:assert/strict";
import { z } from "zod";
import { run as node } from "../../services/node/mod.ts";
import { ORACLE_SETTINGS } from "../../services/node/options.ts";
import { run as oracle } from "../../services/oracle/mod.ts";
import { NODE_SETTINGS } from "../../services/oracle/options.ts";
import { options as stack } from "../../services/stack/mod.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { settingsOf } from "../../lib/cli/variables.ts";
import { OPTION_TABLES } from "./option_tables.ts";

const NONSENSE = ["", " ", "x", "-1", "1e99", "9".repeat(40), "https://", "0x", "a,b", "\0"];

const tables: Record<string, OptionTable> = { ...OPTION_TABLES, stack };

for (const [command, table] of Object.entries(tables)) {
  Deno.test(`Options of ${command}: what refuses a value says what is expected`, () => {
    for (const { flags, kind, repeatable } of Object.values(table)) {
      for (const text of NONSENSE) {
        const { error } = z.safeParse(kind.schema, repeatable ? [text] : text);
        const rule = error?.issues[0]?.message;
        assert.match(rule ?? "Expected", /^(Expected|Unknown|Not) ?/, `${flags} ${text}`);
      }
    }
  });
}

for (
  const [name, { definition }, foreign] of [
    ["oracle", oracle, ORACLE_SETTINGS],
    ["node", node, NODE_SETTINGS],
  ] as const
) {
  Deno.test(`Settings: every key of ${name} in the section [oracle] is known to the other service`, () => {
    const keys = Object.values(definition.options).flatMap(settingsOf)
      .map((words) => words.join(".")).filter((key) => key.startsWith("oracle."));
    assert.deepEqual([...foreign].toSorted(), keys.toSorted());
  });
}
