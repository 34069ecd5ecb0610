-- Both zones of a border report its flow: one zone's import is the other's export.
-- A day's hourly means may differ on average by 30 MW or 15%: the publishers of MISO-PJM, MISO-SPP and ERCOT-SPP differ
-- by up to 28 MW, a cable's ends by its losses. NYISO reports schedules, which may differ from meters by 300 MW.
WITH intervals AS (
    SELECT zone, counterparty, feed, ts, seconds, sum(value) AS mw, count(*) AS ties
    FROM borders JOIN resolutions USING (resolution)
    WHERE seconds <= 3600
    GROUP BY ALL
),
with_all_ties AS (
    FROM intervals QUALIFY ties = max(ties) OVER (PARTITION BY zone, counterparty, feed, ts // 86400)
),
hours AS (
    SELECT zone, counterparty, feed, ts // 3600 AS hour, sum(mw * seconds) / 3600 AS mw
    FROM with_all_ties
    GROUP BY ALL
    HAVING sum(seconds) = 3600
),
sides AS (
    SELECT
        a.zone, b.zone AS other, a.feed, b.feed AS other_feed, a.mw, b.mw AS other_mw,
        timezone(tz, to_timestamp(a.hour * 3600))::DATE AS day
    FROM hours a
    JOIN hours b ON b.zone = a.counterparty AND b.counterparty = a.zone AND b.hour = a.hour
    JOIN zones ON zones.zone = a.zone
    WHERE a.zone < b.zone
)
SELECT
    zone, day,
    format('{} ({}) and {} ({}): {:.0f} MW apart over {} hours, of {:.0f} MW',
           zone, feed, other, other_feed, avg(abs(mw + other_mw)), count(*), avg(abs(mw))) AS detail
FROM sides
GROUP BY zone, day, other, feed, other_feed
HAVING avg(abs(mw + other_mw)) > greatest(
    CASE WHEN (feed = 'nyiso.flows') <> (other_feed = 'nyiso.flows') THEN 300 ELSE 30 END, 0.15 * avg(abs(mw)))
