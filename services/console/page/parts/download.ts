/** Downloads text as a file of bets. */
export function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "bets.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}
