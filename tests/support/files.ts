/** Runs a test with an empty folder. */
export async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A TOML file of so many markets, none of which is one of the specification's. */
export function marketsToml(count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const number = (index + 1).toString(16).padStart(4, "0");
    return [
      "[[market]]",
      `symbol = "T${index + 1}/EUR"`,
      `base = "0x${"ab".repeat(18)}${number}"`,
      `quote = "0x${"cd".repeat(20)}"`,
      "",
    ].join("\n");
  }).join("\n");
}

/** Runs a test with such a file. */
export async function withMarketsFile(
  text: string,
  test: (path: string) => Promise<void>,
): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".toml" });
  try {
    await Deno.writeTextFile(path, text);
    await test(path);
  } finally {
    await Deno.remove(path);
  }
}
