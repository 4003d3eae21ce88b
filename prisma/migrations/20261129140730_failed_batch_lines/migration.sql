-- Failed lines of a batch that still runs, for the console: few among up to 50,000 whose outcomes may be long.
CREATE INDEX CONCURRENTLY "batch_lines_failed" ON "batch_lines"("batch_id", "line")
    WHERE "state" = 'ended' AND ("outcome" #>> '{response,status_code}') IS DISTINCT FROM '200';
