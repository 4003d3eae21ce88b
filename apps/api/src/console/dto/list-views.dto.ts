import { ApiProperty } from '@nestjs/swagger';

/** The class that a view of several extends; `description` says which they are, and in what order. */
export function ListOf<T>(view: new () => T, description?: string): new () => { data: T[] } {
  class ListView {
    @ApiProperty({ type: [view], ...(description === undefined ? {} : { description }) })
    data!: T[];
  }
  return ListView;
}

/** As `ListOf`, for what comes page by page. */
export function PageOf<T>(
  view: new () => T,
  description?: string,
): new () => { data: T[]; has_more: boolean; next: string | null } {
  class PageView extends ListOf(view, description) {
    @ApiProperty()
    has_more!: boolean;

    @ApiProperty({ type: String, nullable: true, description: 'Pass it as `after` to get the next page.' })
    next!: string | null;
  }
  return PageView;
}
