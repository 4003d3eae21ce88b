// Checks whether this container's process is ready; exit code 0 means yes.
const { WORKER_HEALTH_PORT, PORT = '8080' } = process.env;
try {
  const answer = await fetch(`http://127.0.0.1:${WORKER_HEALTH_PORT ?? PORT}/readyz`, {
    signal: AbortSignal.timeout(4_000),
  });
  if (!answer.ok) console.error(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
