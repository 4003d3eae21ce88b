const SECRET_NAME = /PASSWORD|SECRET|TOKEN|CREDENTIAL|(^|_)KEY$/i;

/** What is wrong with an image that scripts/check/image.mjs can build and run, one sentence each. */
export function dockerfileProblems(text) {
  const problems = [];
  const instructions = readInstructions(text);
  const last = instructions.slice(instructions.findLastIndex(({ keyword }) => keyword === 'FROM'));
  const valueIn = (list, keyword) => list.filter((one) => one.keyword === keyword).at(-1)?.rest;

  problems.push(...images(instructions));
  const user = valueIn(last, 'USER') ?? 'root';
  if (/^(root|0)(:|$)/.test(user)) problems.push('the last USER must not be root');
  if (!/^\["[a-z]+"\]$/.test(valueIn(last, 'CMD') ?? '')) problems.push('CMD must be the role alone, such as ["api"]');
  if (!/CMD \["node", /.test(valueIn(last, 'HEALTHCHECK') ?? '')) problems.push('it needs a HEALTHCHECK in exec form');
  if (!last.some(({ keyword, rest }) => keyword === 'LABEL' && rest.includes('org.opencontainers.image.')))
    problems.push('it needs OCI labels');
  for (const { keyword, rest, line } of instructions) {
    for (const problem of problemsOf(keyword, rest)) problems.push(`line ${line}: ${problem}`);
  }
  return problems;
}

/** Instructions with joined continuation lines, without comments. */
function readInstructions(text) {
  const instructions = [];
  let open;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    open ??= { line: index + 1, text: '' };
    open.text += `${line.replace(/\\$/, '')} `;
    if (line.endsWith('\\')) continue;
    const [, keyword, rest] = /^(\S+)\s+(.*)$/.exec(open.text.trim()) ?? [undefined, open.text.trim(), ''];
    instructions.push({ keyword: keyword.toUpperCase(), rest, line: open.line });
    open = undefined;
  }
  return instructions;
}

function images(instructions) {
  const defaults = new Map(
    instructions.filter(({ keyword }) => keyword === 'ARG').map(({ rest }) => rest.split(/=(.*)/s).slice(0, 2)),
  );
  const stages = new Set();
  return instructions.flatMap(({ keyword, rest, line }) => {
    if (keyword !== 'FROM') return [];
    const [image, , stage] = rest.replace(/\$\{(\w+)\}/g, (_, name) => defaults.get(name) ?? '').split(/\s+/);
    if (stage !== undefined) stages.add(stage);
    if (stages.has(image) || /:\d+\.\d+\.\d+-[\w.-]+(@sha256:[0-9a-f]{64})?$/.test(image)) return [];
    return [`line ${line}: the image ${image} is not pinned to a version`];
  });
}

function problemsOf(keyword, rest) {
  const problems = [];
  if (keyword === 'ADD') problems.push('COPY takes files of ours; ADD fetches and unpacks what it is given');
  if (keyword === 'ENV' || keyword === 'ARG')
    for (const [, name] of rest.matchAll(/(?:^|\s)(\w+)(?==|\s|$)/g))
      if (SECRET_NAME.test(name)) problems.push(`${name}: whoever has the image would have the secret`);
  if (keyword === 'RUN') {
    if (/npm (ci|install)/.test(rest) && !/npm ci .*--ignore-scripts/.test(rest))
      problems.push('packages are installed by npm ci --ignore-scripts');
    if (/apt-get install/.test(rest) && !/--no-install-recommends/.test(rest))
      problems.push('apt-get install needs --no-install-recommends');
    if (/(curl|wget) /.test(rest)) problems.push('nothing is fetched past a package manager');
  }
  return problems;
}
