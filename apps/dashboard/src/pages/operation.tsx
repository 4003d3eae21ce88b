import { PageFrame } from '../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: who makes the pictures, what waits, and what went wrong, whosever tasks they are. */
export function OperationPage() {
  return (
    <PageFrame
      title="Providers and queue"
      about="Who makes the pictures, what waits, and what went wrong, in all accounts. The page keeps itself up to date."
    >
      <Providers />
      <QueueState />
      <Failures />
    </PageFrame>
  );
}
