import { Link } from '@tanstack/react-router';

/** Switches between tasks and the calls that never became one. */
export function TaskTabs() {
  return (
    <nav className="tabs" aria-label="Tasks and refused calls">
      <Link to="/tasks" className="tab" activeOptions={{ exact: true, includeSearch: false }}>
        Accepted
      </Link>
      <Link to="/tasks/refused" className="tab" activeOptions={{ includeSearch: false }}>
        Refused
      </Link>
    </nav>
  );
}
