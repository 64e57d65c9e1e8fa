import assert from "node:assert/strict";
import { z } from "zod";
import type { CommandEntries, RunnableCommand } from "../../lib/cli/command.ts";
import type { OptionTable } from "../../lib/cli/options.ts";
import { settingsOf } from "../../lib/cli/option_names.ts";
import { ORACLE_SECTION } from "../../lib/cli/settings_file.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { commands } from "../../main.ts";
import { run as node } from "../../services/node/mod.ts";
import { run as oracle } from "../../services/oracle/mod.ts";
import { options as stack } from "../../services/stack/mod.ts";
import { OPTION_TABLES, parseCommandLine } from "./option_tables.ts";

/** URLs of exchanges with a wrong scheme, and with an unknown name. */
const NAMED_URLS = ["okx=http://x", "who=ws://x"];
const WORDS = ["", " ", "x", "-1", "1e99", "9".repeat(40), "https://", "0x", "a,b", "\0"];
const NONSENSE = [...WORDS, ...NAMED_URLS];

/** Options that accept any text, by their own name or that of their kind. */
const ANY_TEXT = /^(file|path|file\|url|text|host|allowedHosts|writeMethods|httpMethods)$/;

/** Nonsense that is none for these: a place on the disk, a host, an empty list, a time before 1970. */
const MEANT: Record<string, readonly string[]> = {
  strategy: ["https://", ...NAMED_URLS],
  oracleUrl: ["x", "-1", "1e99", "0x", "a,b", ...NAMED_URLS],
  addresses: ["", " "],
  time: ["-1"],
};

const tables: Record<string, OptionTable> = { ...OPTION_TABLES, stack };

for (const [command, table] of Object.entries(tables)) {
  Deno.test(`Options of ${command}: a wrong value is refused, and the error states the expected form`, () => {
    for (const [name, { flags, kind, repeatable }] of Object.entries(table)) {
      const names = [name, kind.placeholder ?? ""];
      if (names.some((each) => ANY_TEXT.test(each))) continue;
      for (const text of NONSENSE) {
        const { error } = z.safeParse(kind.schema, repeatable ? [text] : text);
        const isMeant = names.some((each) => MEANT[each]?.includes(text));
        const rule = error?.issues[0]?.message ?? (isMeant ? "Expected" : "accepted");
        assert.match(rule, /^(Expected|Unknown|Not) ?/, `${flags} ${text}`);
      }
    }
  });
}

Deno.test("Settings: oracle and node accept every key of section [oracle] that one of them reads", () => {
  const keys = [oracle, node].flatMap(({ definition }) => Object.values(definition.options))
    .flatMap(settingsOf).map((words) => words.join(".")).filter((key) => key.startsWith("oracle."));
  assert.deepEqual(ORACLE_SECTION.toSorted(), keys.toSorted());
});

function defaultOf(service: string, option: string): string {
  const spec = OPTION_TABLES[service]?.[option] ?? assert.fail(`${service} has no ${option}`);
  return spec.default ?? assert.fail(`${service} ${option} has no default`);
}

/** Which option of which service has the port that an option's URL names. */
const MEETINGS = [
  ["solver rpcUrl", "node port"],
  ["solver wsUrl", "proxy port"],
  ["bridge rpcUrl", "node port"],
  ["backfill rpcUrl", "node port"],
  ["proxy writeNodeUrl", "node port"],
  ["proxy readNodeUrl", "node readPort"],
  ["node oracleUrl", "oracle port"],
  ["console solverUrl", "solver port"],
  ["console proxyUrl", "proxy port"],
] as const;

for (const [caller, callee] of MEETINGS) {
  Deno.test(`Defaults: the port of ${caller} is that of ${callee}`, () => {
    const [from, to] = [caller, callee].map((name) => {
      const [service = "", option = ""] = name.split(" ");
      return defaultOf(service, option);
    });
    assert.equal(/:(\d+)$/.exec(from ?? "")?.[1], to);
  });
}

async function allCommands(entries: CommandEntries): Promise<RunnableCommand[]> {
  const opened = await Promise.all(Object.values(entries).map((entry) => entry.load()));
  const below = opened.map(({ run }) => allCommands(run.subcommands));
  return [...opened.map(({ run }) => run), ...(await Promise.all(below)).flat()];
}

/** The arguments after `rangemaker` in a shell line, without the shell's own. */
function argumentsIn(line: string): string[] | undefined {
  const [, words] = /(?:^|<\()rangemaker((?: [^\s)|>]+)*)/.exec(line) ?? [];
  return words?.split(" ").filter((word) => word !== "");
}

/** An environment in which every key is given, as the examples suppose. */
function env(name: string): string | undefined {
  return name.endsWith("PRIVATE_KEY") ? DEV_ACCOUNTS.admin.privateKey : undefined;
}

for (const { definition } of await allCommands(commands)) {
  const { name, examples } = definition;
  Deno.test(`rangemaker ${name} --help: its examples are accepted`, async () => {
    assert(examples.length > 0);
    for (const [line, meaning] of examples) {
      assert.notEqual(meaning, "");
      const argv = argumentsIn(line);
      if (argv === undefined) {
        // An example that is no command of this program calls the service itself.
        const { port } = definition.options;
        assert(line.startsWith(`curl http://127.0.0.1:${port?.default}/`), line);
        continue;
      }
      if (argv.includes("--help")) continue;
      await assert.doesNotReject(parseCommandLine(argv, env), line);
    }
  });
}
