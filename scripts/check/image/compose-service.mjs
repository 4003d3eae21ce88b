// Translates a service of docker-compose.yml into arguments for running it without compose.

/** The flags of `podman run` that harden and limit a service; the caller names network, settings and image. */
export function hardeningFlags(service) {
  const { cpus, memory, pids } = service.deploy.resources.limits;
  return [
    ...(service.init === true ? ['--init'] : []),
    ...(service.read_only === true ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ...(service.cap_drop ?? []).map((name) => `--cap-drop=${name}`),
    ...(service.security_opt ?? []).map((option) => `--security-opt=${option.replace(/=true$/, '')}`),
    ...(service.tmpfs ?? []).map((mount) => `--tmpfs=${mount}`),
    ...[`--user=${service.user}`, `--cpus=${cpus}`, `--memory=${memory}`, `--pids-limit=${pids}`],
  ];
}

/** The service's environment, with compose's variables filled from `values`. */
export function environmentOf(service, values) {
  return Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([name, value]) => [name, fill(String(value), values)]),
  );
}

/** Expands ${NAME}, ${NAME:-default} and ${NAME:?problem}; $$ is one dollar. Throws with the problem. */
function fill(text, values) {
  return text.replace(/\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g, (whole, name, kind, rest) => {
    if (whole === '$$') return '$';
    if (values[name]) return values[name];
    if (kind === '?') throw new Error(`${name}: ${rest}`);
    return rest ?? '';
  });
}

/** Seconds of a compose duration, such as 40s or 15m. */
export function secondsOf(duration) {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(duration) ?? [];
  if (number === undefined) throw new Error(`${duration} is no duration in s or m`);
  return Number(number) * (unit === 'm' ? 60 : 1);
}

/** Bytes of a compose size, such as 512m or 2g. */
export function bytesOf(amount) {
  const [, number, unit] = /^(\d+)(m|g)$/.exec(amount) ?? [];
  if (number === undefined) throw new Error(`${amount} is no amount of memory in m or g`);
  return Number(number) * (unit === 'g' ? 1024 ** 3 : 1024 ** 2);
}
