/** A text after a sign, such as ✓ or ●, that is not spoken. */
export function Signed({ text }: { text: string }) {
  const end = text.indexOf(" ");
  return (
    <>
      <span aria-hidden="true">{text.slice(0, end)}</span>
      {text.slice(end)}
    </>
  );
}

/** A text whose parts in backticks are code. Requests in it are links if `url` is given. */
export function Words({ text, url }: { text: string; url?: string }) {
  return (
    <>
      {text.split("`").map((part, index) => {
        const [, path] = /^GET (\/[\w/-]+)$/.exec(part) ?? [];
        if (index % 2 === 0) return part;
        return url === undefined || path === undefined
          ? <code key={index}>{part}</code>
          : <a key={index} href={url + path} target="_blank">{part}</a>;
      })}
    </>
  );
}
