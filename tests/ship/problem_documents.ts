/** Rules of Prometheus and headings of the runbook, made of the table of problems. */
import { stringify } from "yaml";
import { filledIn, type Problem, PROBLEM_GROUPS, PROBLEMS } from "../../lib/problems/mod.ts";

const ALERTS_HEAD =
  `# Made of lib/problems: UPDATE_DOCS=1 deno task test tests/ship/monitoring_test.ts
# Every alert has a chapter of its name in docs/operating.md: what it means and what to do. The links
# to them begin with the external label "documents" of prometheus.yml.
# severity: "critical" loses money or users now; "warning" will, if nobody looks at it today.
`;

const VALUES = {
  share: "{{ $value | humanizePercentage }}",
  seconds: "{{ $value | humanizeDuration }}",
  bytes: "{{ $value | humanize1024 }}B",
  number: "{{ $value | humanize }}",
} as const;

/** The text of docs/monitoring/alerts.yml. */
export function alertsFile(): string {
  const groups = Object.entries(PROBLEM_GROUPS).map(([name, problems]) => ({
    name,
    rules: problems.map(ruleOf),
  }));
  return ALERTS_HEAD + stringify({ groups }, { lineWidth: 0 });
}

function ruleOf({ name, measure, bound, unit, severity, afterS, message }: Problem) {
  const text = filledIn(
    message,
    (label) => label === "value" ? VALUES[unit ?? "number"] : `{{ $labels.${label} }}`,
  );
  return {
    alert: name,
    expr: `${measure.promql} ${bound.op} ${bound.limit}`,
    ...(afterS !== undefined && { for: `${afterS}s` }),
    labels: { severity },
    annotations: {
      summary: `{{ $labels.instance }}: ${text}`,
      runbook_url: `{{ $externalLabels.documents }}/operating.md#${name.toLowerCase()}`,
    },
  };
}

/** docs/operating.md with a chapter for each problem: heading and first paragraph are of the table. */
export function withChapters(guide: string): string {
  const start = guide.indexOf(`### ${PROBLEMS[0]?.name}\n`);
  const others = new Map(
    guide.slice(start).split(/^### /m).map((chapter) => {
      const [name = "", _first, ...paragraphs] = chapter.trim().split("\n\n");
      return [name, paragraphs] as const;
    }),
  );
  const chapters = PROBLEMS.map((problem) =>
    [`### ${problem.name}`, firstParagraph(problem), ...others.get(problem.name) ?? []].join("\n\n")
  );
  return `${guide.slice(0, start)}${chapters.join("\n\n")}\n`;
}

/** When it is reported, and what to do first: `_Critical, after 15 s: it seals no blocks._ Read …`. */
function firstParagraph({ bound, unit, severity, afterS, message, firstStep }: Problem): string {
  const { op, limit } = bound;
  const value = unit === "share"
    ? `${100 * limit} %`
    : `${unit === "bytes" ? limit / 1e9 : limit}${unit === "bytes" ? " GB" : unit ? " s" : ""}`;
  const text = filledIn(message, (name) => {
    if (name !== "value") return `\`${name}\``;
    if (limit === 0) return "some";
    return op === "<" ? `less than ${value}` : `more than ${value}`;
  });
  const kind = severity === "critical" ? "Critical" : "Warning";
  const after = afterS === undefined
    ? ""
    : `, after ${afterS < 120 ? `${afterS} s` : `${afterS / 60} minutes`}`;
  return `_${kind}${after}: ${
    text.replace(/^[A-Z]/, (first) => first.toLowerCase())
  }._ ${firstStep}`;
}
