import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** A link to the page of a task of one's own account, by its id unless there are better words. */
export function TaskLink({ id, children = id }: { readonly id: string; readonly children?: ReactNode }) {
  return (
    <Link to="/tasks/$id" params={{ id }} className="text-link">
      {children}
    </Link>
  );
}
