import { medianOf, megabytes, milliseconds, rate, times } from '../figures.mjs';

/** Images per second with base64, relative to the best peer. */
const GOAL = 2;
const GOAL_CALLERS = 16;
const NONE = '—';
const COLUMNS = ['case', 'callers', 'side', 'calls', 'p50', 'p99', 'added p50', 'added p99', 'cpu', 'wrong'];

/** The figures of each side by its name; `results`: `inTurns` of `{side}`. */
export function figuresOf(results, provider) {
  const own = new Map([...results].map(([{ side }, rounds]) => [side.name, figuresOfRounds(rounds)]));
  const direct = own.get(provider.name);
  const added = (figures, figure) => figures[figure] - direct[figure];
  return new Map(
    [...own].map(([name, figures]) => [
      name,
      { ...figures, addedP50: added(figures, 'p50'), addedP99: added(figures, 'p99') },
    ]),
  );
}

function figuresOfRounds(rounds) {
  const sum = (figure) => rounds.reduce((total, round) => total + figure(round), 0);
  const answered = rounds.filter(({ calls }) => calls > 0);
  const cpuMs = sum(({ cpu }) => Object.values(cpu).reduce((total, ms) => total + ms, 0));
  const wrong = {};
  for (const [outcome, count] of rounds.flatMap((round) => Object.entries(round.wrong)))
    wrong[outcome] = (wrong[outcome] ?? 0) + count;
  return {
    p50: answered.length > 0 ? medianOf(answered, 'p50') : undefined,
    p99: answered.length > 0 ? medianOf(answered, 'p99') : undefined,
    perSecond: medianOf(rounds, 'perSecond'),
    cpuMs: cpuMs / sum(({ calls }) => calls),
    wrong,
  };
}

/** The result of measures/peers.mjs in the common format; `summary` is for the README. */
export function report({ sides, provider, measured, problems, missing, memory, killed }) {
  const gateways = sides.filter((side) => side !== provider);
  const names = sides.map(({ name }) => name);
  return {
    columns: COLUMNS,
    rows: measured.flatMap(({ call, callers, figures }) =>
      names.map((name) => rowOf(call, callers, name, figures.get(name))),
    ),
    facts: [
      ...gateways.filter(({ version }) => version).map(({ name, version }) => `${name} is ${version}`),
      ...missing.map(({ name, reason }) => `${name} was not measured: ${reason}`),
      ...problems.map(({ side, call, reason }) => `${side.name}, ${call.title}: ${NONE}, ${reason}`),
      ...[...memory].map(
        ([{ name }, { idle, most }]) =>
          `memory of ${name}: ${megabytes(idle)} idle, ${megabytes(most)} at most under load`,
      ),
      ...killed.map(killedFact),
      ...fasterPeers(measured, gateways),
    ],
    goals: goalsOf(measured, gateways),
    summary: summaryOf({ measured, gateways, memory, killed }),
    raw: measured.map(({ call, callers, figures }) => ({
      kind: call.kind,
      callers,
      figures: Object.fromEntries(figures),
    })),
  };
}

function rowOf({ title }, callers, name, figures) {
  if (figures?.p50 === undefined) return [title, callers, name, ...COLUMNS.slice(3).map(() => NONE)];
  const { p50, p99, perSecond, addedP50, addedP99, cpuMs, wrong } = figures;
  const outcomes = Object.entries(wrong).map(([outcome, count]) => `${count} x ${outcome}`);
  const times = [p50, p99, addedP50, addedP99, cpuMs].map(milliseconds);
  return [title, callers, name, rateOf(perSecond), ...times, outcomes.join(', ')];
}

/** Rates of slow calls have one decimal. */
function rateOf(perSecond) {
  return perSecond < 20 ? `${perSecond.toFixed(1)}/s` : rate(perSecond);
}

function killedFact({ what, calls, inFlight, answered, paid, restartMs, error, outcomes }) {
  if (error !== undefined) return `${what} killed: ${NONE}, ${error}`;
  const failed = outcomes.filter((outcome) => outcome !== 'answered');
  const reasons = [...new Set(failed)].map((reason) => `${failed.filter((one) => one === reason).length} x ${reason}`);
  const told = reasons.length > 0 ? ` (the others: ${reasons.join(', ')})` : '';
  return `${what} killed with ${inFlight} calls at the provider, ready again after ${milliseconds(restartMs)}: ${answered} of ${calls} callers got their image${told}, ${paid} images were paid`;
}

/** Says where Darkroom is not the fastest: a sentence for each case and number of callers. */
function fasterPeers(measured, gateways) {
  return measured.flatMap(({ call, callers, figures }) => {
    const ours = figures.get('Darkroom');
    const peers = peersOf(gateways, figures);
    const better = (figure, isBetter) =>
      peers.filter(([, theirs]) => isBetter(theirs[figure], ours?.[figure])).map(([name]) => name);
    const more = better('perSecond', (theirs, own) => theirs > own);
    const sooner = better('addedP50', (theirs, own) => theirs < own);
    const cheaper = better('cpuMs', (theirs, own) => theirs < own);
    const said = [
      ...(more.length > 0 ? [`more calls: ${more.join(', ')}`] : []),
      ...(sooner.length > 0 ? [`less added time: ${sooner.join(', ')}`] : []),
      ...(cheaper.length > 0 ? [`less processor time: ${cheaper.join(', ')}`] : []),
    ];
    return said.length > 0 ? [`ahead of Darkroom at ${call.title}, ${callersOf(callers)}: ${said.join('; ')}`] : [];
  });
}

function callersOf(callers) {
  return callers === 1 ? '1 caller' : `${callers} callers`;
}

/** Peers with at least one response. */
function peersOf(gateways, figures) {
  return gateways
    .filter(({ name }) => name !== 'Darkroom' && figures.get(name)?.p50 !== undefined)
    .map(({ name }) => [name, figures.get(name)]);
}

function goalsOf(measured, gateways) {
  const { figures } = measured.find(({ call, callers }) => call.kind === 'inline' && callers === GOAL_CALLERS) ?? {};
  const peers = figures === undefined ? [] : peersOf(gateways, figures);
  const ours = figures?.get('Darkroom')?.perSecond;
  if (peers.length === 0 || ours === undefined) return [];
  const [best, { perSecond }] = peers.reduce((a, b) => (b[1].perSecond > a[1].perSecond ? b : a));
  return [
    {
      text: `images/s with base64, ${GOAL_CALLERS} callers, at least ${times(GOAL)} the best peer (${best})`,
      value: times(ours / perSecond),
      met: ours >= GOAL * perSecond,
    },
  ];
}

/** Five lines: calls per second, CPU time per call, memory, and what a crash loses. */
function summaryOf({ measured, gateways, memory, killed }) {
  const at = (kind, callers) => measured.find((one) => one.call.kind === kind && one.callers === callers);
  const line = (text, cellOf) => [text, ...gateways.map((side) => cellOf(side) ?? NONE)];
  const calls = (text, kind, callers) =>
    line(`${text}, ${callers} callers`, ({ name }) => {
      const figures = at(kind, callers)?.figures.get(name);
      return figures?.p50 === undefined
        ? undefined
        : `${rateOf(figures.perSecond)}, ${milliseconds(figures.cpuMs)} CPU`;
    });
  const rows = [
    calls('images of 2 MB as base64', 'inline', 16),
    calls('edits with a 5 MB upload', 'edit', 16),
    calls('chats, plain', 'plain', 64),
    line('memory, idle / most under load', (side) => {
      const { idle, most } = memory.get(side);
      return `${megabytes(idle)} / ${megabytes(most)}`;
    }),
    line('killed with 50 calls in flight: answered / paid', (side) => {
      const one = killed.find((each) => each.side === side);
      return one === undefined || one.error !== undefined ? undefined : `${one.answered} / ${one.paid}`;
    }),
  ];
  const columns = ['', ...gateways.map(({ name }) => name)];
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
