export function UsagePage() {
  return <p>UsagePage</p>;
}
