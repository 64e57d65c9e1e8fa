/** Wrong values of options are refused in our words. */
import assert from "node:assert/strict";
import { z } from "zod";
import { options as stack } from "../../services/stack/mod.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
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
