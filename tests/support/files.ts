export async function withFolder<T>(test: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    return await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a test with a file of this text, whose name may need a suffix. */
export async function withFile<T>(
  text: string,
  test: (path: string) => T | Promise<T>,
  suffix = "",
): Promise<T> {
  const path = await Deno.makeTempFile({ suffix });
  try {
    await Deno.writeTextFile(path, text);
    return await test(path);
  } finally {
    await Deno.remove(path);
  }
}

/** A TOML file with these markets. */
export function tomlOf(markets: readonly { symbol: string; base: string; quote: string }[]) {
  const tables = markets.map(({ symbol, base, quote }) =>
    `[[market]]\nsymbol = "${symbol}"\nbase = "${base}"\nquote = "${quote}"\n`
  );
  return tables.join("\n");
}

/** A TOML file with this many markets, none of them one of the specification's. */
export function marketsToml(count: number): string {
  return tomlOf(Array.from({ length: count }, (_, index) => {
    const number = (index + 1).toString(16).padStart(4, "0");
    return {
      symbol: `T${index + 1}/EUR`,
      base: `0x${"ab".repeat(18)}${number}`,
      quote: `0x${"cd".repeat(20)}`,
    };
  }));
}

/** Runs a test with such a file. */
export function withMarketsFile(
  text: string,
  test: (path: string) => Promise<void>,
): Promise<void> {
  return withFile(text, test, ".toml");
}
