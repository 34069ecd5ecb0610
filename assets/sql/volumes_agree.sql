-- Compares demand or net interchange in two feeds, such as an ISO's and EIA-930's. A day's hourly means agree on
-- average within the table `tolerances`, because definitions vary a little (losses, pumping, small ties).
WITH hours AS (
    SELECT zone, metric, feed, ts // 3600 AS hour, avg(value) AS mw
    FROM versions JOIN resolutions USING (resolution)
    WHERE metric IN ('demand', 'interchange') AND superseded_at IS NULL
      AND counterparty IS NULL AND link IS NULL AND seconds <= 3600
    GROUP BY ALL
    HAVING sum(seconds) = 3600
),
pairs AS (
    SELECT
        zone, metric, a.feed, b.feed AS other_feed, a.mw, b.mw AS other_mw,
        timezone(tz, to_timestamp(hour * 3600))::DATE AS day
    FROM hours a JOIN hours b USING (zone, metric, hour) JOIN zones USING (zone)
    WHERE a.feed < b.feed
)
SELECT
    zone, day,
    format('{}: {} and {} are {:.0f} MW apart over {} hours, of {:.0f} MW',
           metric, feed, other_feed, avg(abs(mw - other_mw)), count(*), avg(abs(other_mw))) AS detail
FROM pairs JOIN tolerances USING (metric)
GROUP BY zone, day, metric, feed, other_feed, share, amount
HAVING avg(abs(mw - other_mw)) > greatest(amount, share * avg(abs(other_mw)))
