import { PageFrame } from '../../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: providers, queue and failures across all accounts. */
export function OperationPage() {
  return (
    <PageFrame
      title="Status and queue"
      about="How providers, the queue, and tasks of all accounts are doing. Updates automatically."
    >
      <Providers />
      <QueueState />
      <Failures />
    </PageFrame>
  );
}
