import { PageFrame } from '../../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: who makes the images, what waits, and what went wrong, whosever tasks they are. */
export function OperationPage() {
  return (
    <PageFrame
      title="Providers and queue"
      about="Providers, queue, and failed tasks across all accounts. Updates automatically."
    >
      <Providers />
      <QueueState />
      <Failures />
    </PageFrame>
  );
}
