import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** A link to a task of the user's account, labeled with its id by default. */
export function TaskLink({ id, children = id }: { readonly id: string; readonly children?: ReactNode }) {
  return (
    <Link to="/tasks/$id" params={{ id }} className="text-link">
      {children}
    </Link>
  );
}
